import { serviceUrls } from '@plainpath/metadata'
import type { EmbeddedPostgres } from '@plainpath/postgres'
import { openDataDirectory } from './data-directory.ts'
import { embeddedDatabases, openEmbedded } from './local-databases.ts'
import { localSecrets } from './local-secrets.ts'
import type { Environment, LocalSettings } from './local-settings.ts'
import type { Steps } from './steps.ts'

/** Both apps' settings on the data of `npm start`. Disposing gives the embedded server back. */
export interface LocalEnvironment extends AsyncDisposable {
  readonly env: Environment
  /** Undefined when the environment names servers for both apps. */
  readonly server: EmbeddedPostgres | undefined
}

/**
 * Makes what a first run needs: the data directory, keys, the embedded PostgreSQL with its roles and databases. What the
 * environment already says of an app (`AUTH_*`, `RESOURCE_*`) is left as it is; no other server is ever looked for.
 */
export async function openLocalEnvironment(
  settings: LocalSettings,
  given: Environment,
  steps: Steps,
): Promise<LocalEnvironment> {
  await using opening = new AsyncDisposableStack()
  const { origin, port, limitsFactor } = settings
  const data = await openDataDirectory(settings.dataDirectory)
  const secrets = await steps.run(
    'keys and secrets',
    () => localSecrets(data, serviceUrls(origin).base),
    (made) => (made.made > 0 ? `made ${made.made} files, readable by you alone` : 'found'),
  )
  const embedded = !given['AUTH_DATABASE_URL'] || !given['RESOURCE_DATABASE_URL']
  const server = embedded
    ? opening.use(
        await steps.run(
          'PostgreSQL',
          () => openEmbedded(data.path('postgres')),
          (used) =>
            `${used.started ? 'started' : 'was running'} on 127.0.0.1:${used.port}, data in ${used.dir}`,
        ),
      )
    : undefined
  const databases =
    server && (await steps.run('roles and databases', () => embeddedDatabases(server, secrets.passwords)))
  const alsoAccept = `127.0.0.1:${port},[::1]:${port}`
  const resources = opening.move()
  return {
    server,
    env: {
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
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
