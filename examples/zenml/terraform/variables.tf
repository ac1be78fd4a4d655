# ---- the project and its cluster -------------------------------------------------------------------

variable "project_id" {
  description = "Google Cloud project"
  type        = string
}

variable "region" {
  type    = string
  default = "us-central1"
}

variable "zone" {
  description = "Zone of the cluster"
  type        = string
  default     = "us-central1-a"
}

variable "existing_cluster_name" {
  description = "GKE cluster in which KAI is installed"
  type        = string
  default     = "zenml-kai-cluster"
}

variable "kubernetes_context" {
  description = "Context of the cluster in kubeconfig; if empty, the name that gcloud uses"
  type        = string
  default     = ""
}

variable "kubernetes_namespace" {
  description = "Namespace of the pods of pipelines"
  type        = string
  default     = "default"
}

variable "stack_name" {
  type    = string
  default = "kai-gcp-stack"
}

# ---- KAI; kai.auto.tfvars.json has the values, written by `python run.py --terraform` --------------

variable "pod_settings" {
  description = "Settings of every step, as JSON: scheduler and queue. Steps request GPUs in their own settings"
  type        = string

  validation {
    condition     = can(jsondecode(var.pod_settings).scheduler_name)
    error_message = "Expected JSON with a scheduler_name: create kai.auto.tfvars.json again with python run.py --terraform."
  }

  validation {
    condition     = !can(regex("gpu-fraction|gpu-memory|nvidia\\.com/gpu|nvidia\\.com/mig-", var.pod_settings))
    error_message = "A GPU in this variable would be a GPU for every step of every pipeline: request it in the settings of the step."
  }

  validation {
    condition     = !can(regex("\"(node_selector|container_environment|security_context)\"", var.pod_settings))
    error_message = "ZenML ignores node_selector, container_environment and security_context: use node_selectors, env, and privileged beside pod_settings."
  }
}

variable "gpu_fraction" {
  description = "Part of a GPU in the sample pod; the steps have their own settings"
  type        = string
  default     = "0.5"

  validation {
    condition     = can(tonumber(var.gpu_fraction)) && try(tonumber(var.gpu_fraction) > 0 && tonumber(var.gpu_fraction) < 1, false)
    error_message = "Expected a number above 0 and below 1, such as \"0.5\"."
  }
}

variable "kai_scheduler_queue" {
  description = "Queue of the steps; pod_settings has the same queue"
  type        = string
  default     = "test"
}

variable "gpu_type" {
  description = "GPU model in the sample pod, as in GKE's label of nodes"
  type        = string
  default     = "nvidia-tesla-t4"
}

# ---- artifacts and images --------------------------------------------------------------------------

variable "create_resources" {
  description = "Create the bucket and the image repository; false: use the existing ones that the variables name"
  type        = bool
  default     = true
}

variable "artifact_store_bucket_name" {
  description = "If empty, <project>-zenml-artifacts"
  type        = string
  default     = ""
}

variable "bucket_versioning_enabled" {
  type    = bool
  default = true
}

variable "bucket_location" {
  description = "If empty, the region"
  type        = string
  default     = ""
}

variable "bucket_storage_class" {
  type    = string
  default = "STANDARD"
}

variable "bucket_retention_days" {
  description = "Days after which older versions of objects are deleted"
  type        = number
  default     = 30
}

variable "bucket_uniform_access" {
  type    = bool
  default = true
}

variable "container_registry_uri" {
  description = "Used with create_resources=false; if empty, gcr.io/<project>/zenml"
  type        = string
  default     = ""
}

variable "container_registry_id" {
  description = "Name of the new repository; if empty, zenml-<suffix>"
  type        = string
  default     = ""
}

variable "container_registry_description" {
  type    = string
  default = "Images of ZenML pipelines"
}

# ---- ZenML's access to them ------------------------------------------------------------------------

variable "create_service_account" {
  type    = bool
  default = false
}

variable "service_account_id" {
  type    = string
  default = "zenml-service-account"
}

variable "generate_service_account_key" {
  type    = bool
  default = true
}

variable "output_service_account_key_file" {
  description = "File for the key of the new service account; if empty, no file is written"
  type        = string
  default     = ""
}

variable "service_account_key_file" {
  description = "Read if there is no other credential"
  type        = string
  default     = "keys/zenml-kai-scheduler.json"
}

variable "service_account_key_content" {
  description = "The credential for auth_method"
  type        = string
  default     = ""
  sensitive   = true
}

variable "auth_method" {
  type    = string
  default = "service-account"

  validation {
    condition     = contains(["service-account", "implicit", "user-account", "external-account", "oauth2-token", "impersonation"], var.auth_method)
    error_message = "Expected service-account, implicit, user-account, external-account, oauth2-token or impersonation."
  }
}

variable "gcp_service_account_json" {
  description = "Former name of service_account_key_content"
  type        = string
  default     = ""
  sensitive   = true
}
