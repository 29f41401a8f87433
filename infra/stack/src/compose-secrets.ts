import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { openDataDirectory } from '@plainpath/local/data-directory'
import { localSecrets } from '@plainpath/local/secrets'
import { APP_NAMES, type AppName, serviceUrls } from '@plainpath/metadata'
import { scramVerifier } from '@plainpath/postgres'
import { selfSignedCertificate } from './self-signed-certificate.ts'
import { redisAcl } from './start-redis.ts'

/** The files of variables that infra/compose.yaml names, and what stands in each. */
export const COMPOSE_ENV_FILES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  APP_NAMES.flatMap((app) => [
    [`${app}-database.env`, [`${app.toUpperCase()}_DATABASE_URL`]],
    [`${app}-owner.env`, [`${app.toUpperCase()}_MIGRATION_DATABASE_URL`]],
    [`${app}-redis.env`, [`${app.toUpperCase()}_REDIS_URL`]],
  ]),
)

const ROLE_OF = { DATABASE: 'app', MIGRATION_DATABASE: 'owner' } as const
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
  await once('redis.acl', () => redisAcl(redis))
  for (const app of APP_NAMES) {
    const prefix = app.toUpperCase()
    for (const [kind, role] of Object.entries(ROLE_OF) as [keyof typeof ROLE_OF, 'app' | 'owner'][]) {
      const user = `plainpath_${app}_${role}:${passwords[`${app}_${role}`]}`
      await once(
        `${app}-${role === 'app' ? 'database' : 'owner'}.env`,
        () => `${prefix}_${kind}_URL=postgres://${user}@postgres:5432/plainpath_${app}\n`,
      )
    }
    await once(`${app}-redis.env`, () => `${prefix}_REDIS_URL=redis://${app}:${redis[app]}@redis:6379\n`)
  }
  return made
}

const nameOf = (file: string) => file.slice(file.lastIndexOf('/') + 1)
