// kube-apiserver and kube-controller-manager of an older Kubernetes in one executable; the others are
// those of ../programs. The name under which it is started selects one.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // for CronJobs with a time zone

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the clients and their queues
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	}
	fmt.Fprintln(os.Stderr, "start it as kube-apiserver or kube-controller-manager")
	os.Exit(2)
}
