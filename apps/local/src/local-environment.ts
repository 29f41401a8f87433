import { MIGRATIONS as AUTH_MIGRATIONS } from '@plainpath/auth/stores'
import { type CommandIo, TERMINAL } from '@plainpath/commands'
import { serviceUrls } from '@plainpath/metadata'
import {
  closeServerDatabases,
  type EmbeddedPostgres,
  ensureRolesAndDatabases,
  migrate,
  useEmbeddedPostgres,
} from '@plainpath/postgres'
import { MIGRATIONS as RESOURCE_MIGRATIONS } from '@plainpath/resource/migrations'
import { openDataDirectory } from './data-directory.ts'
import { type DatabasePasswords, localSecrets } from './local-secrets.ts'
import { type Environment, type LocalSettings, localSettings, PROJECT_FOLDER } from './local-settings.ts'
import { type Step, silentStep } from './terminal.ts'

/**
 * Makes what a first run needs: the data directory, keys, the embedded PostgreSQL with its roles and databases. What the
 * environment already says of an app (`AUTH_*`, `RESOURCE_*`) is left as it is; no other server is ever looked for.
 *
 * @returns both apps' settings; disposing gives the embedded server back
 */
export async function openLocalEnvironment(settings: LocalSettings, given: Environment, step: Step) {
  await using opening = new AsyncDisposableStack()
  const { origin, port, limitsFactor } = settings
  const data = await openDataDirectory(settings.dataDirectory)
  const secrets = await step(
    'keys and secrets',
    () => localSecrets(data, serviceUrls(origin).base),
    (made) => (made.made > 0 ? `made ${made.made} files, readable by you alone` : 'found'),
  )
  const embedded = !given['AUTH_DATABASE_URL'] || !given['RESOURCE_DATABASE_URL']
  const server = embedded
    ? opening.use(
        await step(
          'PostgreSQL',
          () => useEmbeddedPostgres({ dir: data.path('postgres') }),
          (used) =>
            `${used.started ? 'started' : 'was running'} on 127.0.0.1:${used.port}, data in ${used.dir}`,
        ),
      )
    : undefined
  const databases =
    server && (await step('roles and databases', () => embeddedDatabases(server, secrets.passwords)))
  const alsoAccept = `127.0.0.1:${port},[::1]:${port}`
  const env: Environment = {
    ...databases,
    ...secrets.files,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    AUTH_ALSO_ACCEPT_HOSTS: alsoAccept,
    RESOURCE_ALSO_ACCEPT_HOSTS: alsoAccept,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
    AUTH_LIMITS_FACTOR: String(limitsFactor),
    RESOURCE_LIMITS_FACTOR: String(limitsFactor),
    // `npm start` puts its own in place; commands that need none never call it.
    RESOURCE_AUTH_URL: 'http://127.0.0.1:8091',
    ...Object.fromEntries(
      Object.entries(given).filter(([name, value]) => /^(AUTH|RESOURCE)_/.test(name) && value),
    ),
  }
  const resources = opening.move()
  return {
    env,
    /** Undefined when the environment names servers for both apps. */
    server,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The settings of both apps that name their databases on the embedded server. */
export async function embeddedDatabases(server: EmbeddedPostgres, passwords: DatabasePasswords) {
  const role = (name: keyof DatabasePasswords) => ({ name: `plainpath_${name}`, password: passwords[name] })
  const [auth, resource] = await ensureRolesAndDatabases(server.url, [
    { name: 'plainpath_auth', owner: role('auth_owner'), app: role('auth_app') },
    { name: 'plainpath_resource', owner: role('resource_owner'), app: role('resource_app') },
  ])
  if (!auth || !resource) throw new Error('the databases were not made')
  await closeServerDatabases(server.url)
  return {
    AUTH_DATABASE_URL: auth.appUrl,
    AUTH_MIGRATION_DATABASE_URL: auth.ownerUrl,
    RESOURCE_DATABASE_URL: resource.appUrl,
    RESOURCE_MIGRATION_DATABASE_URL: resource.ownerUrl,
  }
}

/** Brings the tables of both apps up to date. @returns how many migrations it applied */
export async function migrateBoth(env: Environment): Promise<number> {
  let applied = 0
  for (const [app, folder] of [
    ['AUTH', AUTH_MIGRATIONS],
    ['RESOURCE', RESOURCE_MIGRATIONS],
  ] as const) {
    const [url, appUrl] = [env[`${app}_MIGRATION_DATABASE_URL`], env[`${app}_DATABASE_URL`]]
    if (!url || !appUrl) continue
    const appRole = decodeURIComponent(new URL(appUrl).username)
    applied += (await migrate({ url, folder, appRole })).applied.length
  }
  return applied
}

type RunCommand = (args: readonly string[], env: Environment, io: CommandIo) => Promise<number>

const HELP = new Set(['help', '--help', '-h'])

/**
 * Runs an app's command line on the data of `npm start`, whether that runs or not; or on the servers that the app's own
 * variables name. Asking for help opens nothing.
 */
export async function runOnLocalData(
  run: RunCommand,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  if (args.length === 0 || args.some((arg) => HELP.has(arg))) return run(args, env, TERMINAL)
  await using local = await openLocalEnvironment(localSettings(env, PROJECT_FOLDER), env, silentStep)
  return await run(args, local.env, TERMINAL)
}
