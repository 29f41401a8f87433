import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { oauthProvider } from '@better-auth/oauth-provider'
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { jwt } from 'better-auth/plugins'
import pg from 'pg'
import { ORIGIN } from '../load/target.ts'
import { listen, readSetting } from './recorded-responses.ts'

// This baseline runs better-auth with its OAuth provider on PostgreSQL, as its documentation shows for production. The
// README of the bench lists its settings.

/** Higher than the bench's rate, so the baseline counts requests but refuses none. */
const UNREACHED_LIMIT = { window: 60, max: 100_000_000 }
const SCOPES = ['guides:read', 'waitlist:write']

const clientId = readSetting('BENCH_CLIENT_ID')
const provider = oauthProvider({
  loginPage: '/sign-in',
  consentPage: '/consent',
  scopes: SCOPES,
  cachedTrustedClients: new Set([clientId]),
  // Lets the user register the client.
  clientPrivileges: () => true,
  // The id and the secret that the load generator uses.
  generateClientId: () => clientId,
  generateClientSecret: () => readSetting('BENCH_CLIENT_SECRET'),
  rateLimit: { token: UNREACHED_LIMIT, introspect: UNREACHED_LIMIT },
})
const options = {
  baseURL: ORIGIN,
  secret: readSetting('BENCH_SECRET'),
  database: new pg.Pool({ connectionString: readSetting('BENCH_DATABASE_URL'), max: 10 }),
  emailAndPassword: { enabled: true },
  // The documentation of the OAuth provider disables this path.
  disabledPaths: ['/token'],
  // The cast is needed because the type of the provider does not fit exactOptionalPropertyTypes.
  plugins: [jwt(), provider as BetterAuthPlugin],
} satisfies BetterAuthOptions
const { runMigrations } = await getMigrations(options)
await runMigrations()
const auth = betterAuth(options)
await registerClient()
const handle = toNodeHandler(auth)
listen(createServer((request, response) => void handle(request, response)))

/** Creates a user, and registers the only client as that user, because registration needs a session. */
async function registerClient(): Promise<void> {
  const { headers } = await auth.api.signUpEmail({
    body: { name: 'Bench', email: 'bench@example.org', password: randomBytes(32).toString('base64url') },
    returnHeaders: true,
  })
  const { adminCreateOAuthClient } = auth.api as typeof auth.api & typeof provider.endpoints
  await adminCreateOAuthClient({
    headers: new Headers({ cookie: headers.getSetCookie().join('; ') }),
    body: { grant_types: ['client_credentials'], client_credentials_scopes: SCOPES },
  })
}
