import { z } from 'zod'
import { type Manifest, readManifests } from './read-manifests.ts'

const Probe = z.looseObject({
  httpGet: z
    .strictObject({
      path: z.string(),
      port: z.string(),
      httpHeaders: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
    })
    .optional(),
  tcpSocket: z.object({ port: z.string() }).optional(),
  // Kubernetes defines the next three defaults.
  periodSeconds: z.int().default(10),
  timeoutSeconds: z.int().default(1),
  failureThreshold: z.int().default(3),
  terminationGracePeriodSeconds: z.int().optional(),
})
export const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
  env: z
    .array(
      z.object({
        name: z.string(),
        valueFrom: z.object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }) }),
      }),
    )
    .default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).default([]),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  securityContext: z.looseObject({}).default({}),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  resources: z.looseObject({ limits: z.record(z.string(), z.string()).optional() }),
})
export type Container = z.infer<typeof Container>

const PodSpec = z.looseObject({
  enableServiceLinks: z.boolean().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.looseObject({ runAsNonRoot: z.boolean().optional() }),
  initContainers: z.array(Container).default([]),
  containers: z.array(Container),
  volumes: z
    .array(
      z.looseObject({
        name: z.string(),
        secret: z
          .looseObject({ items: z.array(z.object({ key: z.string(), path: z.string() })).optional() })
          .optional(),
      }),
    )
    .default([]),
})
const PodTemplate = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
  spec: PodSpec,
})
const PodOwner = z.looseObject({
  spec: z.looseObject({
    template: PodTemplate.optional(),
    jobTemplate: z.looseObject({ spec: z.looseObject({ template: PodTemplate }) }).optional(),
  }),
})

/** A pod that a manifest defines. `name` and `kind` are those of its Deployment, Job or CronJob. */
export interface Pod {
  readonly name: string
  readonly kind: string
  /** The value of the label `app.kubernetes.io/name`, by which network policies select the pod. */
  readonly label: string | undefined
  readonly spec: z.infer<typeof PodSpec>
  readonly containers: readonly Container[]
}

/** Reads the pods that the manifests define. */
export const readPods = (): Pod[] => readManifests().flatMap(({ manifest }) => parsePods(manifest))

function parsePods(manifest: Manifest): Pod[] {
  if (!['Deployment', 'Job', 'CronJob'].includes(manifest.kind)) return []
  const { spec } = PodOwner.parse(manifest)
  const template = spec.template ?? spec.jobTemplate?.spec.template
  if (!template) throw new Error(`${manifest.metadata.name} has no pod`)
  const { kind, metadata } = manifest
  const label = template.metadata.labels['app.kubernetes.io/name']
  const containers = [...template.spec.initContainers, ...template.spec.containers]
  return [{ name: metadata.name, kind, label, spec: template.spec, containers }]
}
