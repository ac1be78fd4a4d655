output "stack_name" {
  value = zenml_stack.kai.name
}

output "stack_id" {
  value = zenml_stack.kai.id
}

output "gcs_bucket_name" {
  value = local.bucket_name
}

output "gcs_bucket_url" {
  value = local.bucket_url
}

output "container_registry_uri" {
  value = local.registry_uri
}

output "resources_created" {
  value = var.create_resources
}

output "service_account_created" {
  value = var.create_service_account
}

output "service_account_email" {
  value = local.service_account_email
}

output "gke_cluster_name" {
  value = data.google_container_cluster.kai.name
}

output "kubectl_command" {
  value = "gcloud container clusters get-credentials ${var.existing_cluster_name} --zone ${var.zone} --project ${var.project_id}"
}

output "apply_queue_config_command" {
  value = "kubectl apply -f ${path.module}/../queues.yaml"
}

output "verify_stack_command" {
  value = "zenml stack describe ${zenml_stack.kai.name}"
}

output "set_active_stack_command" {
  value = "zenml stack set ${zenml_stack.kai.name}"
}

output "run_gpu_pipeline" {
  value = "python ${path.module}/../run.py"
}

output "kai_queue_usage_example" {
  description = "A pod with a part of a GPU: it has only the annotation, because KAI rejects it together with nvidia.com/gpu"
  value = templatefile("${path.module}/pod.yaml.tftpl", {
    namespace    = var.kubernetes_namespace
    queue        = var.kai_scheduler_queue
    gpu_fraction = var.gpu_fraction
    gpu_type     = var.gpu_type
  })
}

output "zenml_components" {
  value = {
    artifact_store     = zenml_stack_component.artifact_store.name
    container_registry = zenml_stack_component.container_registry.name
    orchestrator       = zenml_stack_component.orchestrator.name
  }
}

output "resource_summary" {
  value = {
    project   = var.project_id
    cluster   = data.google_container_cluster.kai.name
    namespace = var.kubernetes_namespace
    queue     = var.kai_scheduler_queue
    bucket    = local.bucket_url
    registry  = local.registry_uri
    stack     = zenml_stack.kai.name
  }
}
