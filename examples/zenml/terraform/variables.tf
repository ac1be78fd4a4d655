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
  description = "Context of the cluster in kubeconfig; empty: as gcloud names it"
  type        = string
  default     = ""
}

variable "kubernetes_namespace" {
  description = "Where the pods of pipelines run"
  type        = string
  default     = "default"
}

variable "stack_name" {
  type    = string
  default = "kai-gcp-stack"
}

# ---- KAI; kai.auto.tfvars.json has the values, written by `python run.py --terraform` --------------

variable "pod_settings" {
  description = "What every step gets, as JSON: scheduler and queue. GPUs are asked for by steps"
  type        = string

  validation {
    condition     = can(jsondecode(var.pod_settings).scheduler_name)
    error_message = "This is no JSON with a scheduler_name: write kai.auto.tfvars.json anew with python run.py --terraform."
  }

  validation {
    condition     = !can(regex("gpu-fraction|gpu-memory|nvidia\\.com/gpu|nvidia\\.com/mig-", var.pod_settings))
    error_message = "A GPU here would be a GPU for every step of every pipeline: ask for it in the settings of the step."
  }

  validation {
    condition     = !can(regex("\"(node_selector|container_environment|security_context)\"", var.pod_settings))
    error_message = "ZenML ignores node_selector, container_environment and security_context: write node_selectors, env, and privileged beside pod_settings."
  }
}

variable "gpu_fraction" {
  description = "Part of a GPU in the sample pod; the steps say their own"
  type        = string
  default     = "0.5"

  validation {
    condition     = can(tonumber(var.gpu_fraction)) && try(tonumber(var.gpu_fraction) > 0 && tonumber(var.gpu_fraction) < 1, false)
    error_message = "Write a number above 0 and below 1, such as \"0.5\"."
  }
}

variable "kai_scheduler_queue" {
  description = "Queue of the steps; pod_settings names it too"
  type        = string
  default     = "test"
}

variable "gpu_type" {
  description = "GPU model in the sample pod, as GKE labels nodes"
  type        = string
  default     = "nvidia-tesla-t4"
}

# ---- artifacts and images --------------------------------------------------------------------------

variable "create_resources" {
  description = "Make the bucket and the image repository; false: use those that are named here"
  type        = bool
  default     = true
}

variable "artifact_store_bucket_name" {
  description = "Empty: <project>-zenml-artifacts"
  type        = string
  default     = ""
}

variable "bucket_versioning_enabled" {
  type    = bool
  default = true
}

variable "bucket_location" {
  description = "Empty: the region"
  type        = string
  default     = ""
}

variable "bucket_storage_class" {
  type    = string
  default = "STANDARD"
}

variable "bucket_retention_days" {
  description = "Older versions of objects are deleted after so many days"
  type        = number
  default     = 30
}

variable "bucket_uniform_access" {
  type    = bool
  default = true
}

variable "container_registry_uri" {
  description = "Used with create_resources=false; empty: gcr.io/<project>/zenml"
  type        = string
  default     = ""
}

variable "container_registry_id" {
  description = "Name of the repository that is made; empty: zenml-<suffix>"
  type        = string
  default     = ""
}

variable "container_registry_description" {
  type    = string
  default = "Images of ZenML pipelines"
}

# ---- how ZenML gets at them ------------------------------------------------------------------------

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
  description = "Where the key of the service account that is made is written to; empty: nowhere"
  type        = string
  default     = ""
}

variable "service_account_key_file" {
  description = "Read when there is no other credential"
  type        = string
  default     = "keys/zenml-kai-scheduler.json"
}

variable "service_account_key_content" {
  description = "The credential of auth_method itself"
  type        = string
  default     = ""
  sensitive   = true
}

variable "auth_method" {
  type    = string
  default = "service-account"

  validation {
    condition     = contains(["service-account", "implicit", "user-account", "external-account", "oauth2-token", "impersonation"], var.auth_method)
    error_message = "Write service-account, implicit, user-account, external-account, oauth2-token or impersonation."
  }
}

variable "gcp_service_account_json" {
  description = "Former name of service_account_key_content"
  type        = string
  default     = ""
  sensitive   = true
}
