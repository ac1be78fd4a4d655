# A ZenML stack with KAI as the scheduler of its steps: artifacts in a bucket, images in a registry, pods
# in an existing GKE cluster.

resource "random_id" "suffix" {
  byte_length = 3
}

locals {
  suffix          = random_id.suffix.hex
  context         = var.kubernetes_context != "" ? var.kubernetes_context : "gke_${var.project_id}_${var.zone}_${var.existing_cluster_name}"
  bucket_name     = var.artifact_store_bucket_name != "" ? var.artifact_store_bucket_name : "${var.project_id}-zenml-artifacts"
  bucket_location = var.bucket_location != "" ? var.bucket_location : var.region
  repository_id   = var.container_registry_id != "" ? var.container_registry_id : "zenml-${local.suffix}"
  given_registry  = var.container_registry_uri != "" ? var.container_registry_uri : "gcr.io/${var.project_id}/zenml"
  made_registry   = "${var.region}-docker.pkg.dev/${var.project_id}/${local.repository_id}"
  registry_uri    = var.create_resources ? local.made_registry : local.given_registry
  bucket_url      = "gs://${local.bucket_name}"
}

data "google_container_cluster" "kai" {
  name     = var.existing_cluster_name
  location = var.zone
}

# ---- artifacts and images --------------------------------------------------------------------------

resource "google_storage_bucket" "artifacts" {
  count = var.create_resources ? 1 : 0

  name                        = local.bucket_name
  location                    = local.bucket_location
  storage_class               = var.bucket_storage_class
  uniform_bucket_level_access = var.bucket_uniform_access

  versioning {
    enabled = var.bucket_versioning_enabled
  }

  lifecycle_rule {
    condition {
      days_since_noncurrent_time = var.bucket_retention_days
    }
    action {
      type = "Delete"
    }
  }
}

resource "google_artifact_registry_repository" "images" {
  count = var.create_resources ? 1 : 0

  location      = var.region
  repository_id = local.repository_id
  description   = var.container_registry_description
  format        = "DOCKER"
}

# ---- ZenML's access to them ------------------------------------------------------------------------

resource "google_service_account" "zenml" {
  count = var.create_service_account ? 1 : 0

  account_id   = var.service_account_id
  display_name = "ZenML pipelines"
}

resource "google_project_iam_member" "zenml" {
  for_each = var.create_service_account ? toset([
    "roles/storage.admin",
    "roles/artifactregistry.admin",
    "roles/container.developer",
  ]) : toset([])

  project = var.project_id
  role    = each.value
  member  = "serviceAccount:${google_service_account.zenml[0].email}"
}

resource "google_service_account_key" "zenml" {
  count = var.create_service_account && var.generate_service_account_key ? 1 : 0

  service_account_id = google_service_account.zenml[0].name
}

resource "local_sensitive_file" "key" {
  count = var.output_service_account_key_file != "" && length(google_service_account_key.zenml) > 0 ? 1 : 0

  content         = base64decode(google_service_account_key.zenml[0].private_key)
  filename        = var.output_service_account_key_file
  file_permission = "0600"
}

locals {
  service_account_email = one(google_service_account.zenml[*].email)

  # The first of these that is set; the implicit method needs none.
  credential = try(coalesce(
    try(base64decode(google_service_account_key.zenml[0].private_key), ""),
    var.service_account_key_content,
    var.gcp_service_account_json,
    try(file(var.service_account_key_file), ""),
  ), "")

  credential_key = {
    "service-account"  = "service_account_json"
    "impersonation"    = "service_account_json"
    "user-account"     = "user_account_json"
    "external-account" = "external_account_json"
    "oauth2-token"     = "token"
  }

  connector_configuration = merge(
    { project_id = var.project_id },
    var.auth_method == "implicit" ? {} : { (lookup(local.credential_key, var.auth_method, "")) = local.credential },
    var.auth_method == "impersonation" ? { target_principal = "${var.service_account_id}@${var.project_id}.iam.gserviceaccount.com" } : {},
  )

  # Each connector is for one resource, which it names, so its component does not need the name.
  connectors = {
    "gcs-bucket"         = local.bucket_url
    "kubernetes-cluster" = var.existing_cluster_name
    "docker-registry"    = local.registry_uri
  }
}

resource "zenml_service_connector" "gcp" {
  for_each = local.connectors

  name          = "${var.stack_name}-${each.key}-${local.suffix}"
  type          = "gcp"
  auth_method   = var.auth_method
  resource_type = each.key
  resource_id   = each.value
  configuration = local.connector_configuration

  depends_on = [
    google_storage_bucket.artifacts,
    google_artifact_registry_repository.images,
    google_project_iam_member.zenml,
  ]

  lifecycle {
    precondition {
      condition     = var.auth_method == "implicit" || local.credential != ""
      error_message = "There is no credential: set create_service_account, service_account_key_content or service_account_key_file, or auth_method=implicit."
    }
  }
}

# ---- the stack -------------------------------------------------------------------------------------

resource "zenml_stack_component" "artifact_store" {
  name   = "${var.stack_name}-artifacts-${local.suffix}"
  type   = "artifact_store"
  flavor = "gcp"

  configuration = {
    path = local.bucket_url
  }

  connector_id = zenml_service_connector.gcp["gcs-bucket"].id
}

resource "zenml_stack_component" "container_registry" {
  name   = "${var.stack_name}-images-${local.suffix}"
  type   = "container_registry"
  flavor = "gcp"

  configuration = {
    uri = local.registry_uri
  }

  connector_id = zenml_service_connector.gcp["docker-registry"].id
}

resource "zenml_stack_component" "orchestrator" {
  name   = "${var.stack_name}-kubernetes-${local.suffix}"
  type   = "orchestrator"
  flavor = "kubernetes"

  configuration = {
    kubernetes_context   = local.context
    kubernetes_namespace = var.kubernetes_namespace
    synchronous          = "true"
    pod_settings         = var.pod_settings
  }

  connector_id = zenml_service_connector.gcp["kubernetes-cluster"].id

  lifecycle {
    precondition {
      condition     = contains(values(try(jsondecode(var.pod_settings).labels, {})), var.kai_scheduler_queue)
      error_message = "pod_settings names another queue than kai_scheduler_queue: create kai.auto.tfvars.json again with python run.py --terraform."
    }
  }
}

resource "zenml_stack" "kai" {
  name = var.stack_name

  components = {
    artifact_store     = zenml_stack_component.artifact_store.id
    container_registry = zenml_stack_component.container_registry.id
    orchestrator       = zenml_stack_component.orchestrator.id
  }
}
