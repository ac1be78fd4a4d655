terraform {
  required_version = ">= 1.5"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 5.0, < 8.0"
    }
    local = {
      source  = "hashicorp/local"
      version = "~> 2.5"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.5"
    }
    zenml = { # with 2.x every plan shows pod_settings as changed
      source  = "zenml-io/zenml"
      version = ">= 2.0.2, < 4.0"
    }
  }
}

provider "google" {
  project = var.project_id
  region  = var.region
  zone    = var.zone
}

# Takes ZENML_SERVER_URL and ZENML_API_KEY from the environment.
provider "zenml" {}
