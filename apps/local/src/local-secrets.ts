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
 * Makes the keys and secrets of a first run; each app gets its own, and they share only the API's credential.
 *
 * @param audience the API root that the credential may introspect tokens for
 */
export async function localSecrets(data: DataDirectory, audience: string) {
  const line = (make: () => string) => () => `${make()}\n`
  const authKek = await data.fileOnce('auth-kek', line(newKeyEncryptionKey))
  const authHash = await data.fileOnce('auth-hash-key', line(newHashKey))
  const resourceKek = await data.fileOnce('resource-kek', line(newKeyEncryptionKey))
  const resourceHash = await data.fileOnce('resource-hash-key', line(newHashKey))
  const passwords = await data.fileOnce('database-passwords.json', () => JSON.stringify(newPasswords()))
  // Both halves are made in one file first: two files that are made one after the other could come from two processes.
  const pair = await data.fileOnce('resource-server.json', () =>
    JSON.stringify(createResourceServer(RESOURCE_CLIENT_ID, audience)),
  )
  const credential = Credential.parse(JSON.parse(pair.content))
  const secret = await data.fileOnce('resource-client-secret', () => credential.secret)
  // The credential may have been rotated since, at this origin or another.
  const entry = { ...credential.server, audience, secrets: [secretDigest(secret.content.trim())] }
  const servers = await data.fileOnce(`resource-servers-${slug(audience)}.json`, () =>
    JSON.stringify([entry]),
  )
  if (!servers.content.includes(entry.secrets[0] ?? ''))
    await replaceFile(servers.path, JSON.stringify([entry]))
  const files = [authKek, authHash, resourceKek, resourceHash, passwords, pair, secret, servers]
  return {
    /** How many files were made now: 0 on every start but the first. */
    made: files.filter((file) => file.made).length,
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
