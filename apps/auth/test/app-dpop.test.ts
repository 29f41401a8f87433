import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AppSystem,
  addApp,
  getCode,
  introspectToken,
  RESOURCE,
  readTokens,
  redeemCode,
  startAppSystem,
} from './app-flow.ts'
import { calculateThumbprint, createDpopProof } from './dpop-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal, INVALID_GRANT } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { send } from './send.ts'

let system: AppSystem
beforeAll(async () => {
  system = await startAppSystem('Postgres')
  // `createDpopProof` dates a proof by the machine's clock, so the instances need the same time.
  system.clock.now = new Date()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** Sends a token request of an app, with a proof by the key, if there is one. */
async function requestTokens(fields: Record<string, string>, key?: KeyPair) {
  const proof = key && (await createDpopProof(system.auth, key))
  return await send(system.auth.url, {
    method: 'POST',
    path: '/oauth/token',
    headers: { ...(proof !== undefined && { dpop: proof }) },
    body: new URLSearchParams({ resource: RESOURCE, ...fields }),
  })
}

test('a refresh token that a public app got with a proof works only with a proof by the same key', async () => {
  const app = addApp(system)
  const [key, otherKey] = [await generateTestKeyPair(), await generateTestKeyPair()]
  const { code, verifier } = await getCode(system, app)
  const firstTokens = readTokens(
    system.auth,
    await requestTokens(
      {
        grant_type: 'authorization_code',
        client_id: app.id,
        code,
        code_verifier: verifier,
        redirect_uri: app.redirectUris[0] ?? '',
      },
      key,
    ),
  )
  const refreshWith = (token: string, proofKey?: KeyPair) =>
    requestTokens({ grant_type: 'refresh_token', client_id: app.id, refresh_token: token }, proofKey)
  await expectRefusal(system.auth, () => refreshWith(firstTokens.refresh), INVALID_GRANT)
  expectProblem(await refreshWith(firstTokens.refresh, otherKey), INVALID_GRANT)
  const nextTokens = readTokens(system.auth, await refreshWith(firstTokens.refresh, key))
  expect(await introspectToken(system, nextTokens.access)).toMatchObject({
    cnf: { jkt: await calculateThumbprint(key) },
  })
  await expectRefusal(system.auth, () => refreshWith(nextTokens.refresh), INVALID_GRANT)
})

test('a refresh token of a public app is bound once the app refreshes it with a proof', async () => {
  const app = addApp(system)
  const key = await generateTestKeyPair()
  const { refresh: unbound } = readTokens(
    system.auth,
    await redeemCode(system.auth, app, await getCode(system, app)),
  )
  const refreshWith = (token: string, proofKey?: KeyPair) =>
    requestTokens({ grant_type: 'refresh_token', client_id: app.id, refresh_token: token }, proofKey)
  const { refresh: bound } = readTokens(system.auth, await refreshWith(unbound, key))
  await expectRefusal(system.auth, () => refreshWith(bound), INVALID_GRANT)
  readTokens(system.auth, await refreshWith(bound, key))
})
