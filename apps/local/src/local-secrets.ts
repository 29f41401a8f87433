import { randomBytes } from 'node:crypto'
import { createResourceServer, secretDigest } from '@plainpath/auth/resource-servers'
import { replaceFile } from '@plainpath/auth/resource-servers-file'
import { newHashKey, newKeyEncryptionKey } from '@plainpath/sealing'
import { z } from 'zod'
import type { DataDirectory } from './data-directory.ts'

const ROLES = ['auth_owner', 'auth_app', 'resource_owner', 'resource_app'] as const
const DatabasePasswords = z.record(z.enum(ROLES), z.string())
export type DatabasePasswords = z.infer<typeof DatabasePasswords>

const Credential = z.strictObject({ server: z.object({ client_id: z.string() }).loose(), secret: z.string() })

const RESOURCE_CLIENT_ID = 'rs_plainpath_api'

/**
 * Creates the keys and secrets of both apps, unless they exist, and reads them. The apps share only the API credential.
 *
 * @param audience the API root for which the credential may introspect tokens
 */
export async function ensureLocalSecrets(data: DataDirectory, audience: string) {
  const line = (make: () => string) => () => `${make()}\n`
  const authKek = await data.createFileOnce('auth-kek', line(newKeyEncryptionKey))
  const authHash = await data.createFileOnce('auth-hash-key', line(newHashKey))
  const resourceKek = await data.createFileOnce('resource-kek', line(newKeyEncryptionKey))
  const resourceHash = await data.createFileOnce('resource-hash-key', line(newHashKey))
  const passwords = await data.createFileOnce('database-passwords.json', () => JSON.stringify(newPasswords()))
  // The secret and its hash are first created in one file: if each had its own, two processes could create one file each.
  const pair = await data.createFileOnce('resource-server.json', () =>
    JSON.stringify(createResourceServer(RESOURCE_CLIENT_ID, audience)),
  )
  const credential = Credential.parse(JSON.parse(pair.content))
  const secret = await data.createFileOnce('resource-client-secret', () => credential.secret)
  // The credential may have been rotated after these files were created, at this origin or another.
  const entry = { ...credential.server, audience, secrets: [secretDigest(secret.content.trim())] }
  const servers = await data.createFileOnce(`resource-servers-${slug(audience)}.json`, () =>
    JSON.stringify([entry]),
  )
  if (!servers.content.includes(entry.secrets[0] ?? ''))
    await replaceFile(servers.path, JSON.stringify([entry]))
  const files = [authKek, authHash, resourceKek, resourceHash, passwords, pair, secret, servers]
  return {
    /** The number of files that this call created: 0 except on the first start. */
    created: files.filter((file) => file.isNew).length,
    passwords: DatabasePasswords.parse(JSON.parse(passwords.content)),
    files: {
      AUTH_KEK_FILE: authKek.path,
      AUTH_HASH_KEY_FILE: authHash.path,
      RESOURCE_KEK_FILE: resourceKek.path,
      RESOURCE_HASH_KEY_FILE: resourceHash.path,
      AUTH_RESOURCE_SERVERS_FILE: servers.path,
      RESOURCE_CLIENT_SECRET_FILE: secret.path,
    },
    RESOURCE_CLIENT_ID: credential.server.client_id,
  }
}

const newPasswords = () =>
  Object.fromEntries(ROLES.map((role) => [role, randomBytes(24).toString('base64url')]))

const slug = (url: string) => url.replaceAll(/[^A-Za-z0-9]+/g, '-')
