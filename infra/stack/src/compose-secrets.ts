import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import path from 'node:path'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { ensureLocalSecrets } from '@plainpath/local/secrets'
import { APP_NAMES, type AppName, createServiceUrls } from '@plainpath/metadata'
import { computeScramVerifier } from '@plainpath/postgres'
import { createSelfSignedCertificate } from './self-signed-certificate.ts'
import { formatRedisAcl } from './start-redis.ts'

type Passwords = Readonly<Record<`${AppName}_${'app' | 'owner'}`, string>>

/** The environment files that infra/compose.yaml names, and the variable that each sets. */
const ENV_FILES = APP_NAMES.flatMap((app) => {
  const formatDatabaseUrl = (role: 'app' | 'owner') => (passwords: Passwords) =>
    `postgres://plainpath_${app}_${role}:${passwords[`${app}_${role}`]}@postgres:5432/plainpath_${app}`
  const formatRedisUrl = (_: Passwords, redisPasswords: Readonly<Record<AppName, string>>) =>
    `redis://${app}:${redisPasswords[app]}@redis:6379`
  const prefix = app.toUpperCase()
  return [
    { file: `${app}-database.env`, variable: `${prefix}_DATABASE_URL`, formatUrl: formatDatabaseUrl('app') },
    {
      file: `${app}-owner.env`,
      variable: `${prefix}_MIGRATION_DATABASE_URL`,
      formatUrl: formatDatabaseUrl('owner'),
    },
    { file: `${app}-redis.env`, variable: `${prefix}_REDIS_URL`, formatUrl: formatRedisUrl },
  ]
})
/** The names of the variables that each environment file sets. */
export const COMPOSE_ENV_FILES = Object.fromEntries(ENV_FILES.map(({ file, variable }) => [file, [variable]]))

/** The host name of the mail catcher. */
const MAIL_HOST = 'mail'
const generatePassword = () => randomBytes(24).toString('base64url')

/**
 * Creates the missing keys, passwords and credentials that infra/compose.yaml names. Containers read the files as
 * another user, so they are readable by all (0644) in a folder that only its owner can enter (0700).
 *
 * @returns the names of the files that it created
 */
export async function createComposeSecrets(folder: string, origin: string): Promise<string[]> {
  const data = await openDataDirectory(folder)
  await chmod(folder, 0o700)
  const localSecrets = await ensureLocalSecrets(data, createServiceUrls(origin).base)
  const { passwords, files } = localSecrets
  const createdFiles = [...localSecrets.createdFiles]
  const writeOnce = async (name: string, generate: () => string): Promise<string> => {
    const file = await data.createFileOnce(name, generate)
    await chmod(file.path, 0o644)
    if (file.isNew) createdFiles.push(name)
    return file.content
  }
  for (const file of Object.values(files)) await chmod(file, 0o644)
  // `ensureLocalSecrets` has created the file, so this call only reads it.
  const servers = await data.createFileOnce(path.basename(files.AUTH_RESOURCE_SERVERS_FILE), () => '[]')
  // compose.yaml names this copy, because the name of the original contains the audience.
  await writeOnce('resource-servers.json', () => servers.content)
  await writeOnce('postgres-password', generatePassword)
  await writeOnce('role-passwords.psql', () =>
    Object.entries(passwords)
      .map(([role, password]) => `\\set ${role} '${computeScramVerifier(password)}'\n`)
      .join(''),
  )
  // One file stores both, so that the key always belongs to the certificate.
  const { key, certificate } = JSON.parse(
    await writeOnce('mail-tls.json', () => {
      const created = createSelfSignedCertificate(MAIL_HOST)
      return JSON.stringify({ key: created.privateKey, certificate: created.certificate })
    }),
  ) as { key: string; certificate: string }
  await writeOnce('mail-key.pem', () => key)
  await writeOnce('mail-certificate.pem', () => certificate)
  const redisPasswords = JSON.parse(
    await writeOnce('redis-passwords.json', () =>
      JSON.stringify({ auth: generatePassword(), resource: generatePassword() }),
    ),
  ) as Record<AppName, string>
  await writeOnce('grafana-password', generatePassword)
  await writeOnce('redis.acl', () => formatRedisAcl(redisPasswords))
  for (const { file, variable, formatUrl } of ENV_FILES)
    await writeOnce(file, () => `${variable}=${formatUrl(passwords, redisPasswords)}\n`)
  return createdFiles
}
