import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateProofKeyPair, makeProof, type ProofKeyPair, sendBoundRequest } from './dpop-client.ts'
import { expectProblem } from './send-request.ts'
import { type RunningResource, type StartOptions, startResource } from './start-resource.ts'

/** Two instances under one origin, on the same stores and authorization server. */
export interface Instances extends AsyncDisposable {
  readonly first: RunningResource
  readonly second: RunningResource
  /** Reads the list of guides with a bound token and these proofs. */
  read(
    instance: RunningResource,
    token: string,
    proofs: readonly string[],
  ): ReturnType<typeof sendBoundRequest>
}

/** Starts two instances. Both expect proofs for the URL of the first, because its origin is configured for both. */
export async function startInstances(options: StartOptions = {}): Promise<Instances> {
  await using opening = new AsyncDisposableStack()
  const first = opening.use(await startResource(options))
  const env = { ...options.env, RESOURCE_ORIGIN: first.origin, RESOURCE_AUTH_URL: first.auth.url }
  const second = opening.use(await startResource({ ...options, env, otherInstance: first }))
  const resources = opening.move()
  return {
    first,
    second,
    read: (instance, token, proofs) =>
      sendBoundRequest(instance, { token, proofs, headers: { host: new URL(first.origin).host } }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Defines the tests that two instances together accept each proof only once. @param kind the store that they share */
export function describeProofReuse(kind: string, start: () => Promise<Instances>): void {
  describe(`two instances on ${kind}`, () => {
    let instances: Instances
    let key: ProofKeyPair
    beforeAll(async () => {
      instances = await start()
      key = await generateProofKeyPair()
    })
    afterAll(() => instances[Symbol.asyncDispose]())

    /** Creates a function that sends the same request, with the same proof, to an instance. */
    async function createRepeatableRequest() {
      const { first, second, read } = instances
      const token = first.auth.issueBound(key.jkt)
      const newProof = () => makeProof(key, { url: `${first.origin}/api/guides`, token })
      // The instances may not be connected to Redis yet.
      for (const instance of [first, second])
        await expect.poll(async () => (await read(instance, token, [await newProof()])).status).toBe(200)
      const proof = await newProof()
      return (instance: RunningResource) => read(instance, token, [proof])
    }

    test('accept a proof once, and then refuse it at both instances', async () => {
      const { first, second } = instances
      const send = await createRepeatableRequest()
      expect((await send(first)).status).toBe(200)
      for (const instance of [second, first])
        expectProblem(await send(instance), { status: 401, code: 'invalid-token-proof' })
    })

    test.for([
      ['one instance', 3, () => [instances.first]],
      ['both instances', 4, () => [instances.first, instances.second]],
    ] as const)(
      'accept one of several simultaneous requests with the same proof at %s',
      async ([, count, listTargets]) => {
        const send = await createRepeatableRequest()
        const targets = listTargets()
        const responses = await Promise.all(
          Array.from({ length: count }, (_, index) => send(targets[index % targets.length]!)),
        )
        const statuses = responses.map(({ status }) => status)
        expect(statuses.toSorted()).toEqual([200, ...Array<number>(count - 1).fill(401)])
      },
    )
  })
}
