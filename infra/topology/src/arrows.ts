/** A connection that `from` opens to `port` of `to`. */
interface Connection {
  readonly from: string
  readonly to: string
  readonly port: number
  /** The setting of `from` that names `to`; absent if no setting of our apps does. */
  readonly setting?: string
}

/**
 * Every connection between processes. `world` is the internet: any client, and any public host from which auth fetches a client's
 * metadata document. The network policies of `WORKLOADS` allow their connections in this list, DNS queries, and nothing else.
 * Services of compose.yaml share a network only if an entry connects them or they belong to one app. Each `_URL` setting in the
 * manifests has an entry. The optional component with backups is not listed: it connects to PostgreSQL as the migration jobs do.
 */
export const CONNECTIONS: readonly Connection[] = [
  { from: 'world', to: 'gateway', port: 8443 },
  { from: 'world', to: 'gateway', port: 8080 },
  { from: 'gateway', to: 'auth', port: 8081 },
  { from: 'gateway', to: 'resource', port: 8082 },
  { from: 'resource', to: 'auth', port: 8091, setting: 'RESOURCE_AUTH_URL' },
  { from: 'auth', to: 'postgres', port: 5432, setting: 'AUTH_DATABASE_URL' },
  { from: 'auth', to: 'redis', port: 6379, setting: 'AUTH_REDIS_URL' },
  { from: 'resource', to: 'postgres', port: 5432, setting: 'RESOURCE_DATABASE_URL' },
  { from: 'resource', to: 'redis', port: 6379, setting: 'RESOURCE_REDIS_URL' },
  { from: 'auth', to: 'mail', port: 587, setting: 'AUTH_SMTP_URL' },
  { from: 'resource', to: 'mail', port: 587, setting: 'RESOURCE_SMTP_URL' },
  { from: 'auth', to: 'world', port: 443 },
  { from: 'auth', to: 'collector', port: 4318, setting: 'AUTH_OTLP_URL' },
  { from: 'resource', to: 'collector', port: 4318, setting: 'RESOURCE_OTLP_URL' },
  { from: 'auth-migrate', to: 'postgres', port: 5432, setting: 'AUTH_MIGRATION_DATABASE_URL' },
  { from: 'auth-keys', to: 'postgres', port: 5432, setting: 'AUTH_DATABASE_URL' },
  { from: 'resource-migrate', to: 'postgres', port: 5432, setting: 'RESOURCE_MIGRATION_DATABASE_URL' },
  { from: 'prometheus', to: 'auth', port: 9081 },
  { from: 'prometheus', to: 'resource', port: 9082 },
  { from: 'grafana', to: 'prometheus', port: 9090 },
]

/**
 * The workloads in the namespace of the Kubernetes manifests. The other endpoints of `CONNECTIONS` are outside it: in other
 * namespaces, on the internet, or only in compose.yaml.
 */
export const WORKLOADS = [
  'gateway',
  'auth',
  'resource',
  'auth-migrate',
  'resource-migrate',
  'auth-keys',
] as const
