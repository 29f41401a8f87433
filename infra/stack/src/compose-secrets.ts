import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { localSecrets } from '@plainpath/local/secrets'
import { APP_NAMES, type AppName, serviceUrls } from '@plainpath/metadata'
import { scramVerifier } from '@plainpath/postgres'
import { selfSignedCertificate } from './self-signed-certificate.ts'
import { redisAcl } from './start-redis.ts'

type Passwords = Readonly<Record<`${AppName}_${'app' | 'owner'}`, string>>

/** The files of variables that infra/compose.yaml names, and the one line that is in each. */
const ENV_FILES = APP_NAMES.flatMap((app) => {
  const database = (role: 'app' | 'owner') => (passwords: Passwords) =>
    `postgres://plainpath_${app}_${role}:${passwords[`${app}_${role}`]}@postgres:5432/plainpath_${app}`
  const redis = (_: Passwords, redisPasswords: Readonly<Record<AppName, string>>) =>
    `redis://${app}:${redisPasswords[app]}@redis:6379`
  const prefix = app.toUpperCase()
  return [
    { file: `${app}-database.env`, variable: `${prefix}_DATABASE_URL`, url: database('app') },
    { file: `${app}-owner.env`, variable: `${prefix}_MIGRATION_DATABASE_URL`, url: database('owner') },
    { file: `${app}-redis.env`, variable: `${prefix}_REDIS_URL`, url: redis },
  ]
})
export const COMPOSE_ENV_FILES = Object.fromEntries(ENV_FILES.map(({ file, variable }) => [file, [variable]]))

/** What the apps call the mail catcher. */
const MAIL_HOST = 'mail'
const newPassword = () => randomBytes(24).toString('base64url')

/**
 * Makes the keys, passwords and credentials that infra/compose.yaml names, each once: what exists stays as it is.
 * Containers read the files as another user, so the folder is what keeps others out.
 *
 * @returns the names of the files made now
 */
export async function makeComposeSecrets(folder: string, origin: string): Promise<string[]> {
  const data = await openDataDirectory(folder)
  await chmod(folder, 0o700)
  const made: string[] = []
  const once = async (name: string, make: () => string): Promise<string> => {
    const file = await data.fileOnce(name, make)
    await chmod(file.path, 0o644)
    if (file.made) made.push(name)
    return file.content
  }
  const { passwords, files } = await localSecrets(data, serviceUrls(origin).base)
  for (const file of Object.values(files)) await chmod(file, 0o644)
  const servers = await data.fileOnce(nameOf(files.AUTH_RESOURCE_SERVERS_FILE), () => '[]')
  await once('resource-servers.json', () => servers.content)
  await once('postgres-password', newPassword)
  await once('role-passwords.psql', () =>
    Object.entries(passwords)
      .map(([role, password]) => `\\set ${role} '${scramVerifier(password)}'\n`)
      .join(''),
  )
  const tls = selfSignedCertificate(MAIL_HOST)
  const { key, certificate } = JSON.parse(
    await once('mail-tls.json', () => JSON.stringify(tls)),
  ) as typeof tls
  await once('mail-key.pem', () => key)
  await once('mail-certificate.pem', () => certificate)
  const redis = JSON.parse(
    await once('redis-passwords.json', () =>
      JSON.stringify({ auth: newPassword(), resource: newPassword() }),
    ),
  ) as Record<AppName, string>
  await once('grafana-password', newPassword)
  await once('redis.acl', () => redisAcl(redis))
  for (const { file, variable, url } of ENV_FILES)
    await once(file, () => `${variable}=${url(passwords, redis)}\n`)
  return made
}

const nameOf = (file: string) => file.slice(file.lastIndexOf('/') + 1)
