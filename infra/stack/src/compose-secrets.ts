import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { ensureLocalSecrets } from '@plainpath/local/secrets'
import { APP_NAMES, type AppName, serviceUrls } from '@plainpath/metadata'
import { scramVerifier } from '@plainpath/postgres'
import { selfSignedCertificate } from './self-signed-certificate.ts'
import { redisAcl } from './start-redis.ts'

type Passwords = Readonly<Record<`${AppName}_${'app' | 'owner'}`, string>>

/** The environment files that infra/compose.yaml names, and the variable that each sets. */
const ENV_FILES = APP_NAMES.flatMap((app) => {
  const database = (role: 'app' | 'owner') => (passwords: Passwords) =>
    `postgres://plainpath_${app}_${role}:${passwords[`${app}_${role}`]}@postgres:5432/plainpath_${app}`
  const redisUrl = (_: Passwords, redisPasswords: Readonly<Record<AppName, string>>) =>
    `redis://${app}:${redisPasswords[app]}@redis:6379`
  const prefix = app.toUpperCase()
  return [
    { file: `${app}-database.env`, variable: `${prefix}_DATABASE_URL`, url: database('app') },
    { file: `${app}-owner.env`, variable: `${prefix}_MIGRATION_DATABASE_URL`, url: database('owner') },
    { file: `${app}-redis.env`, variable: `${prefix}_REDIS_URL`, url: redisUrl },
  ]
})
export const COMPOSE_ENV_FILES = Object.fromEntries(ENV_FILES.map(({ file, variable }) => [file, [variable]]))

/** The host name of the mail catcher. */
const MAIL_HOST = 'mail'
const newPassword = () => randomBytes(24).toString('base64url')

/**
 * Creates the keys, passwords and credentials that infra/compose.yaml names, unless they exist. Containers read the files as
 * another user, so they are readable by all (0644) in a folder that only its owner can enter (0700).
 *
 * @returns the names of the files that it created
 */
export async function makeComposeSecrets(folder: string, origin: string): Promise<string[]> {
  const data = await openDataDirectory(folder)
  await chmod(folder, 0o700)
  const made: string[] = []
  const writeOnce = async (name: string, make: () => string): Promise<string> => {
    const file = await data.createFileOnce(name, make)
    await chmod(file.path, 0o644)
    if (file.isNew) made.push(name)
    return file.content
  }
  const { passwords, files } = await ensureLocalSecrets(data, serviceUrls(origin).base)
  for (const file of Object.values(files)) await chmod(file, 0o644)
  const servers = await data.createFileOnce(baseName(files.AUTH_RESOURCE_SERVERS_FILE), () => '[]')
  await writeOnce('resource-servers.json', () => servers.content)
  await writeOnce('postgres-password', newPassword)
  await writeOnce('role-passwords.psql', () =>
    Object.entries(passwords)
      .map(([role, password]) => `\\set ${role} '${scramVerifier(password)}'\n`)
      .join(''),
  )
  const tls = selfSignedCertificate(MAIL_HOST)
  const { key, certificate } = JSON.parse(
    await writeOnce('mail-tls.json', () => JSON.stringify(tls)),
  ) as typeof tls
  await writeOnce('mail-key.pem', () => key)
  await writeOnce('mail-certificate.pem', () => certificate)
  const redisPasswords = JSON.parse(
    await writeOnce('redis-passwords.json', () =>
      JSON.stringify({ auth: newPassword(), resource: newPassword() }),
    ),
  ) as Record<AppName, string>
  await writeOnce('grafana-password', newPassword)
  await writeOnce('redis.acl', () => redisAcl(redisPasswords))
  for (const { file, variable, url } of ENV_FILES)
    await writeOnce(file, () => `${variable}=${url(passwords, redisPasswords)}\n`)
  return made
}

const baseName = (file: string) => file.slice(file.lastIndexOf('/') + 1)
