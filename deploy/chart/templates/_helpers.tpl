{{- define "zs.name" -}}
{{- if contains "zeta-scaler" .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- else -}}{{ printf "%s-zeta-scaler" .Release.Name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "zs.selector" -}}
app.kubernetes.io/name: zeta-scaler
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "zs.labels" -}}
{{ include "zs.selector" . }}
app.kubernetes.io/part-of: zeta-scaler
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "zs.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "zs.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "zs.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* zeta-scaler.yml: what the values above say, with .Values.config over it. */}}
{{- define "zs.config" -}}
{{- $c := dict "web" (dict "listen_address" ":9880" "external_url" .Values.externalURL) "rule_sets" (list (dict "pack" "zeta-auto")) -}}
{{- if .Values.embedded.enabled -}}
{{- $_ := set $c "embedded" (dict "path" "/var/lib/zeta-scaler-samples/tsdb" "retention" .Values.embedded.retention) -}}
{{- $_ := set $c "clusters" .Values.clusters -}}
{{- else -}}
{{- $_ := set $c "prometheus" (dict "urls" (list .Values.prometheus.url)) -}}
{{- end -}}
{{- if .Values.alertmanager.url -}}
{{- $_ := set $c "alerting" (dict "alertmanagers" (list (dict "url" .Values.alertmanager.url))) -}}
{{- end -}}
{{- if and .Values.active.enabled .Values.active.drain -}}
{{- $_ := set $c "clusters" .Values.clusters -}}
{{- end -}}
{{- if .Values.active.enabled -}}
{{- $_ := set (index $c "web") "bearer_tokens_file" "/etc/zeta-scaler-tokens/tokens" -}}
{{- $_ := set $c "state" (dict "type" "kubernetes" "namespace" .Release.Namespace) -}}
{{- $_ := set $c "leadership" (dict "type" "kubernetes") -}}
{{- $_ := set $c "events" (list "log" "kubernetes") -}}
{{- else -}}
{{- $_ := set $c "state" (dict "type" "file" "path" "/var/lib/zeta-scaler/state.db") -}}
{{- $_ := set $c "leadership" (dict "type" "none" "lock_file" "/var/lib/zeta-scaler/lock") -}}
{{- end -}}
{{- mergeOverwrite $c (deepCopy .Values.config) | toYaml -}}
{{- end -}}
