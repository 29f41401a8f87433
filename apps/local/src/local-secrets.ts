import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { createResourceServer, hashSecret } from '@plainpath/auth/resource-servers'
import { replaceFile } from '@plainpath/auth/resource-servers-file'
import { generateHashKey, generateKeyEncryptionKey } from '@plainpath/sealing'
import { z } from 'zod'
import type { DataDirectory } from './data-directory.ts'
import { LocalError } from './local-settings.ts'

const ROLES = ['auth_owner', 'auth_app', 'resource_owner', 'resource_app'] as const
const DatabasePasswords = z.record(z.enum(ROLES), z.string())
export type DatabasePasswords = z.infer<typeof DatabasePasswords>

const Credential = z.strictObject({ server: z.object({ client_id: z.string() }).loose(), secret: z.string() })

const RESOURCE_CLIENT_ID = 'rs_plainpath_api'

/**
 * Creates the keys and secrets of both apps unless they exist, and reads them. The apps share only the API credential.
 *
 * @param audience the API root for which the credential may introspect tokens
 */
export async function ensureLocalSecrets(data: DataDirectory, audience: string) {
  const withNewline = (createSecret: () => string) => () => `${createSecret()}\n`
  const authKekFile = await data.createFileOnce('auth-kek', withNewline(generateKeyEncryptionKey))
  const authHashKeyFile = await data.createFileOnce('auth-hash-key', withNewline(generateHashKey))
  const resourceKekFile = await data.createFileOnce('resource-kek', withNewline(generateKeyEncryptionKey))
  const resourceHashKeyFile = await data.createFileOnce('resource-hash-key', withNewline(generateHashKey))
  const passwordsFile = await data.createFileOnce('database-passwords.json', () =>
    JSON.stringify(createPasswords()),
  )
  // One file contains the secret and its hash. With two files, one process could create the secret, and another the hash.
  const credentialFile = await data.createFileOnce('resource-server.json', () =>
    JSON.stringify(createResourceServer(RESOURCE_CLIENT_ID, audience)),
  )
  const credential = parseFile(credentialFile, Credential)
  const secretFile = await data.createFileOnce('resource-client-secret', () => credential.secret)
  // The secret may have been rotated since `resource-server.json` was created, so the API's entry has the current secret's hash.
  const serverEntry = { ...credential.server, audience, secrets: [hashSecret(secretFile.content.trim())] }
  // The audience is part of the file name, so each origin has its own entry.
  const serversFile = await data.createFileOnce(`resource-servers-${replacePunctuation(audience)}.json`, () =>
    JSON.stringify([serverEntry]),
  )
  // The file exists already, but has the hash of an earlier secret.
  if (!serversFile.content.includes(serverEntry.secrets[0] ?? ''))
    await replaceFile(serversFile.path, JSON.stringify([serverEntry]))
  const files = [
    authKekFile,
    authHashKeyFile,
    resourceKekFile,
    resourceHashKeyFile,
    passwordsFile,
    credentialFile,
    secretFile,
    serversFile,
  ]
  return {
    /** The names of the files that this call created. */
    createdFiles: files.filter((file) => file.isNew).map((file) => path.basename(file.path)),
    passwords: parseFile(passwordsFile, DatabasePasswords),
    files: {
      AUTH_KEK_FILE: authKekFile.path,
      AUTH_HASH_KEY_FILE: authHashKeyFile.path,
      RESOURCE_KEK_FILE: resourceKekFile.path,
      RESOURCE_HASH_KEY_FILE: resourceHashKeyFile.path,
      AUTH_RESOURCE_SERVERS_FILE: serversFile.path,
      RESOURCE_CLIENT_SECRET_FILE: secretFile.path,
    },
    RESOURCE_CLIENT_ID: credential.server.client_id,
  }
}

/**
 * Parses a file of the data directory.
 *
 * @throws {LocalError} that names the file without quoting its content
 */
function parseFile<T>(file: { path: string; content: string }, type: z.ZodType<T>): T {
  try {
    return type.parse(JSON.parse(file.content))
  } catch {
    throw new LocalError(
      `The file ${file.path} is incomplete or damaged. Restore it from a backup of the data directory.`,
    )
  }
}

const createPasswords = () =>
  Object.fromEntries(ROLES.map((role) => [role, randomBytes(24).toString('base64url')]))

const replacePunctuation = (url: string) => url.replaceAll(/[^A-Za-z0-9]+/g, '-')
