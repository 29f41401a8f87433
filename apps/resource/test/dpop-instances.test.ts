import { expect, test } from 'vitest'
import { generateProofKeyPair, makeProof, sendBoundRequest } from './dpop-client.ts'
import { describeProofReuse, startInstances } from './dpop-instances.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

describeProofReuse('PostgreSQL', () => startInstances())

test('responds 503 to a bound request without PostgreSQL, and 200 to a bearer request', async () => {
  await using api = await startResource({
    env: { RESOURCE_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
  })
  const key = await generateProofKeyPair()
  const token = api.auth.issueBound(key.jkt)
  const proofs = [await makeProof(key, { url: `${api.origin}/api/guides`, token })]
  const refusal = await sendBoundRequest(api, { token, proofs })
  expectProblem(refusal, { status: 503, code: 'unavailable' })
  expect(refusal.headers['retry-after']).toMatch(/^\d+$/)
  const authorization = `Bearer ${api.auth.issue()}`
  expect((await sendRequest(api.origin, { path: '/api/guides', headers: { authorization } })).status).toBe(
    200,
  )
})
