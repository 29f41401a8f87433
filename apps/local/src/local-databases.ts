import { type EmbeddedPostgres, ensureRolesAndDatabases, useEmbeddedPostgres } from '@plainpath/postgres'
import type { DatabasePasswords } from './local-secrets.ts'

/** The settings of both apps that name their databases on the embedded server. */
export async function embeddedDatabases(server: EmbeddedPostgres, passwords: DatabasePasswords) {
  const role = (name: keyof DatabasePasswords) => ({ name: `plainpath_${name}`, password: passwords[name] })
  const [auth, resource] = await ensureRolesAndDatabases(server.url, [
    { name: 'plainpath_auth', owner: role('auth_owner'), app: role('auth_app') },
    { name: 'plainpath_resource', owner: role('resource_owner'), app: role('resource_app') },
  ])
  if (!auth || !resource) throw new Error('the databases were not made')
  return {
    AUTH_DATABASE_URL: auth.appUrl,
    AUTH_MIGRATION_DATABASE_URL: auth.ownerUrl,
    RESOURCE_DATABASE_URL: resource.appUrl,
    RESOURCE_MIGRATION_DATABASE_URL: resource.ownerUrl,
  }
}

export const openEmbedded = (dir: string) => useEmbeddedPostgres({ dir })
