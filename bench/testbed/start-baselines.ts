import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { startManagedProcess } from '@plainpath/stack/managed-process'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { READY } from '../baselines/recorded-responses.ts'
import { ORIGIN, type Target } from '../load/target.ts'
import { ON_SERVER_CORE } from './machine.ts'
import type { Stores } from './open-stores.ts'
import { READ_HEADERS, sendRequest } from './send-request.ts'
import type { MeasuredApp } from './start-measured-app.ts'

type Server = Pick<Target, 'pid' | 'port'>
/**
 * The names of the programs in `bench/baselines`. `koa-bare` and `node-http` repeat recorded responses; `koa-jwt` also verifies a
 * token. `oidc-bare` and `better-auth` issue and introspect tokens. `koa-insert` inserts a row for each request.
 */
export type BaselineName = 'koa-bare' | 'node-http' | 'koa-jwt' | 'oidc-bare' | 'better-auth' | 'koa-insert'

export interface Baselines extends AsyncDisposable {
  readonly servers: Readonly<Record<BaselineName, Server>>
  /** A token that `koa-jwt` accepts. */
  readonly jwt: string
  /** The only client of `oidc-bare` and `better-auth`. */
  readonly client: { readonly id: string; readonly secret: string }
}

const AUDIENCE = `${ORIGIN}/api`

/**
 * Starts the baselines, all on the server core.
 *
 * @param options.paths the paths of the API whose responses `koa-bare`, `node-http` and `koa-jwt` repeat
 * @param options.folder the folder for the recorded responses and the logs
 */
export async function startBaselines(
  stores: Stores,
  { api, paths, folder }: { api: MeasuredApp; paths: readonly string[]; folder: string },
): Promise<Baselines> {
  await using opening = new AsyncDisposableStack()
  const responsesFile = path.join(folder, 'responses.json')
  await writeFile(responsesFile, JSON.stringify(await recordResponses(api, paths)))
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwt = await new SignJWT({ scope: 'guides:read waitlist:write', client_id: 'agt_bench' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer(ORIGIN)
    .setAudience(AUDIENCE)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
  const client = { id: 'bench', secret: randomBytes(32).toString('base64url') }
  const clientSettings = { BENCH_CLIENT_ID: client.id, BENCH_CLIENT_SECRET: client.secret }
  const settings: Record<BaselineName, Record<string, string>> = {
    'koa-bare': { BENCH_RESPONSES: responsesFile },
    'node-http': { BENCH_RESPONSES: responsesFile },
    'koa-jwt': {
      BENCH_RESPONSES: responsesFile,
      BENCH_JWK: JSON.stringify(await exportJWK(publicKey)),
      BENCH_ISSUER: ORIGIN,
      BENCH_AUDIENCE: AUDIENCE,
    },
    'oidc-bare': { ...clientSettings, BENCH_REDIS_URL: stores.redis.adminUrl },
    'better-auth': {
      ...clientSettings,
      BENCH_DATABASE_URL: await stores.createDatabase('better_auth'),
      BENCH_SECRET: randomBytes(32).toString('base64url'),
      // better-auth counts requests only in production.
      NODE_ENV: 'production',
    },
    'koa-insert': {
      BENCH_AUTH_DATABASE_URL: stores.env['AUTH_DATABASE_URL'] ?? '',
      BENCH_RESOURCE_DATABASE_URL: stores.env['RESOURCE_DATABASE_URL'] ?? '',
    },
  }
  const servers: Partial<Record<BaselineName, Server>> = {}
  for (const name of Object.keys(settings) as BaselineName[]) {
    const [port = 0] = await reserveFreePorts(1)
    const { child } = opening.use(
      await startManagedProcess({
        name,
        command: [
          ...ON_SERVER_CORE,
          process.execPath,
          path.join(import.meta.dirname, `../baselines/${name}.ts`),
        ],
        env: { ...settings[name], BENCH_PORT: String(port) },
        logFile: path.join(folder, `${name}.log`),
        readyLine: READY,
      }),
    )
    servers[name] = { pid: child.pid ?? 0, port }
  }
  const resources = opening.move()
  return {
    servers: servers as Record<BaselineName, Server>,
    jwt,
    client,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Records the responses of the API. @throws {Error} when one is not 200 */
async function recordResponses(api: MeasuredApp, paths: readonly string[]) {
  const responses: Record<string, { type: string; encoding: string; body: string }> = {}
  for (const requestPath of paths) {
    const { status, headers, body } = await sendRequest(api.port, requestPath, { headers: READ_HEADERS })
    if (status !== 200) throw new Error(`${requestPath} responded ${status}`)
    responses[requestPath] = {
      type: headers['content-type'] ?? '',
      encoding: headers['content-encoding'] ?? '',
      body: body.toString('base64'),
    }
  }
  return responses
}
