import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeProof, newProofKey, type ProofKeyPair, sendBound } from './dpop-client.ts'
import { expectProblem } from './send-request.ts'
import { type RunningResource, type StartOptions, startResource } from './start-resource.ts'

/** Two instances under one origin, on the same stores and authorization server. */
export interface Instances extends AsyncDisposable {
  readonly one: RunningResource
  readonly two: RunningResource
  /** Sends a read with a bound token. @param proofs as they are sent */
  read(at: RunningResource, token: string, proofs: readonly string[]): ReturnType<typeof sendBound>
}

export async function startInstances(options: StartOptions = {}): Promise<Instances> {
  await using opening = new AsyncDisposableStack()
  const one = opening.use(await startResource(options))
  const env = { ...options.env, RESOURCE_ORIGIN: one.origin, RESOURCE_AUTH_URL: one.auth.url }
  const two = opening.use(
    await startResource({ ...options, env, beside: { databaseUrl: one.databaseUrl, keys: one.keys } }),
  )
  const resources = opening.move()
  return {
    one,
    two,
    read: (at, token, proofs) =>
      sendBound(at, { token, proofs, headers: { host: new URL(one.origin).host } }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Every pair of instances must accept a proof once. */
export function describeInstances(kind: string, start: () => Promise<Instances>): void {
  describe(`two instances on ${kind}`, () => {
    let instances: Instances
    let key: ProofKeyPair
    beforeAll(async () => {
      instances = await start()
      key = await newProofKey()
    })
    afterAll(() => instances[Symbol.asyncDispose]())

    async function newRequest() {
      const { one, two, read } = instances
      const token = one.auth.issueBound(key.jkt)
      const proof = () => makeProof(key, { url: `${one.origin}/api/guides`, token })
      // They may not be connected to Redis yet.
      for (const at of [one, two])
        await expect.poll(async () => (await read(at, token, [await proof()])).status).toBe(200)
      const once = await proof()
      return (at: RunningResource) => read(at, token, [once])
    }

    test('accept a proof once in sequence', async () => {
      const { one, two } = instances
      const send = await newRequest()
      expect((await send(one)).status).toBe(200)
      for (const at of [two, one]) expectProblem(await send(at), { status: 401, code: 'invalid-token-proof' })
    })

    test.for([
      ['one instance', 3, () => [instances.one]],
      ['both instances', 4, () => [instances.one, instances.two]],
    ] as const)('accept a proof once in parallel at %s', async ([, times, at]) => {
      const send = await newRequest()
      const sent = Array.from({ length: times }, (_, index) => send(at()[index % at().length]!))
      const statuses = (await Promise.all(sent)).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, ...Array<number>(times - 1).fill(401)])
    })
  })
}
