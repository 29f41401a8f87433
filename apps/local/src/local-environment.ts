import { MIGRATIONS as AUTH_MIGRATIONS } from '@plainpath/auth/stores'
import { type CommandIo, TERMINAL_IO } from '@plainpath/commands'
import { createServiceUrls } from '@plainpath/metadata'
import {
  type EmbeddedPostgres,
  ensureRolesAndDatabases,
  migrate,
  restrictServerDatabases,
  useEmbeddedPostgres,
} from '@plainpath/postgres'
import { MIGRATIONS as RESOURCE_MIGRATIONS } from '@plainpath/resource/migrations'
import { openDataDirectory } from './data-directory.ts'
import { type DatabasePasswords, ensureLocalSecrets } from './local-secrets.ts'
import { type Environment, type LocalSettings, PROJECT_FOLDER, readLocalSettings } from './local-settings.ts'
import { type RunStep, runSilently } from './terminal.ts'

/**
 * Opens the data directory, and creates the directory and the secrets if they are missing. If the environment lacks the database
 * URL of an app, also starts the embedded PostgreSQL (if it is not already running) and creates any missing roles and databases.
 * Variables of the environment that start with `AUTH_` or `RESOURCE_` override the values that this function computes. An empty
 * variable counts as unset.
 *
 * @returns the environment variables of both apps, and the embedded server. Disposing stops that server unless another
 *   process uses it
 */
export async function openLocalEnvironment(
  settings: LocalSettings,
  environment: Environment,
  runStep: RunStep,
) {
  await using cleanup = new AsyncDisposableStack()
  const { origin, port, publicMcp, limitsFactor } = settings
  const data = await openDataDirectory(settings.dataDirectory)
  const secrets = await runStep(
    'keys and secrets',
    () => ensureLocalSecrets(data, createServiceUrls(origin).base),
    ({ createdFiles }) =>
      createdFiles.length > 0 ? `created ${createdFiles.length} files that only you can read` : 'found',
  )
  const needsEmbeddedServer = !environment['AUTH_DATABASE_URL'] || !environment['RESOURCE_DATABASE_URL']
  const server = needsEmbeddedServer
    ? cleanup.use(
        await runStep(
          'PostgreSQL',
          () => useEmbeddedPostgres({ dir: data.path('postgres') }),
          ({ wasStarted, port: serverPort, dir }) =>
            `${wasStarted ? 'started' : 'already running'} on 127.0.0.1:${serverPort}, data in ${dir}`,
        ),
      )
    : undefined
  const databases =
    server && (await runStep('roles and databases', () => ensureEmbeddedDatabases(server, secrets.passwords)))
  const alsoAcceptedHosts = `127.0.0.1:${port},[::1]:${port}`
  const env: Environment = {
    ...databases,
    ...secrets.files,
    RESOURCE_CLIENT_ID: secrets.RESOURCE_CLIENT_ID,
    AUTH_ORIGIN: origin,
    RESOURCE_ORIGIN: origin,
    ...(publicMcp && { RESOURCE_MCP_PUBLIC_ORIGIN: publicMcp.origin }),
    AUTH_ALSO_ACCEPT_HOSTS: alsoAcceptedHosts,
    RESOURCE_ALSO_ACCEPT_HOSTS: alsoAcceptedHosts,
    AUTH_OUTBOX_DIR: data.path('outbox'),
    RESOURCE_OUTBOX_DIR: data.path('outbox'),
    AUTH_LIMITS_FACTOR: String(limitsFactor),
    RESOURCE_LIMITS_FACTOR: String(limitsFactor),
    // `npm start` replaces this with the address of its internal listener. Commands do not use it.
    RESOURCE_AUTH_URL: 'http://127.0.0.1:8091',
    ...Object.fromEntries(
      Object.entries(environment).filter(([name, value]) => /^(AUTH|RESOURCE)_/.test(name) && value),
    ),
  }
  const resources = cleanup.move()
  return {
    env,
    /** The embedded server; undefined if the environment has the database URLs of both apps. */
    server,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/**
 * Creates the missing roles and databases of both apps on the embedded server, and sets the passwords of the roles. Lets only
 * superusers connect to the server's other databases.
 *
 * @returns the environment variables with the database URLs
 */
export async function ensureEmbeddedDatabases(server: EmbeddedPostgres, passwords: DatabasePasswords) {
  const describeRole = (name: keyof DatabasePasswords) => ({
    name: `plainpath_${name}`,
    password: passwords[name],
  })
  const [auth, resource] = await ensureRolesAndDatabases(server.url, [
    { name: 'plainpath_auth', owner: describeRole('auth_owner'), app: describeRole('auth_app') },
    { name: 'plainpath_resource', owner: describeRole('resource_owner'), app: describeRole('resource_app') },
  ])
  if (!auth || !resource) throw new Error('the databases were not created')
  await restrictServerDatabases(server.url)
  return {
    AUTH_DATABASE_URL: auth.appUrl,
    AUTH_MIGRATION_DATABASE_URL: auth.ownerUrl,
    RESOURCE_DATABASE_URL: resource.appUrl,
    RESOURCE_MIGRATION_DATABASE_URL: resource.ownerUrl,
  }
}

/**
 * Applies the migrations of both apps. Skips an app if the environment lacks one of its two database URLs.
 *
 * @returns the number of applied migrations
 */
export async function migrateBothApps(env: Environment): Promise<number> {
  let appliedCount = 0
  for (const [app, folder] of [
    ['AUTH', AUTH_MIGRATIONS],
    ['RESOURCE', RESOURCE_MIGRATIONS],
  ] as const) {
    const url = env[`${app}_MIGRATION_DATABASE_URL`]
    const appUrl = env[`${app}_DATABASE_URL`]
    if (!url || !appUrl) continue
    const appRole = decodeURIComponent(new URL(appUrl).username)
    appliedCount += (await migrate({ url, folder, appRole })).applied.length
  }
  return appliedCount
}

type RunCommand = (args: readonly string[], env: Environment, io: CommandIo) => Promise<number>

const HELP_ARGUMENTS = new Set(['help', '--help', '-h'])

/**
 * Runs an app's command against the local data directory, or against the servers named in the app's environment variables.
 * `npm start` need not be running. With a help option or without arguments, opens neither the data directory nor a database.
 */
export async function runOnLocalData(
  run: RunCommand,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  if (args.length === 0 || args.some((arg) => HELP_ARGUMENTS.has(arg))) return run(args, env, TERMINAL_IO)
  await using local = await openLocalEnvironment(readLocalSettings(env, PROJECT_FOLDER), env, runSilently)
  return await run(args, local.env, TERMINAL_IO)
}
