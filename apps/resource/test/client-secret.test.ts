import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { CLIENT_SECRET } from './fake-authorization-server.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const NEXT_SECRET = 'prs_the_secret_that_comes_after_it'

test('when its secret is refused, the API reads the file again, tries the previous secret, and then responds 503', async () => {
  await using api = await startResource()
  const token = api.auth.issue()
  const readGuides = () =>
    sendRequest(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })
  expect((await readGuides()).status).toBe(200)
  await writeFile(path.join(api.keyFolder, 'client-secret'), `${NEXT_SECRET}\n`)
  api.auth.clientSecret = NEXT_SECRET
  const introspectionsBefore = api.auth.requests.introspection
  const responses = await Promise.all(Array.from({ length: 20 }, readGuides))
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
  // At most two for each of the 20 requests: one with the old secret, and one with the next.
  expect(api.auth.requests.introspection - introspectionsBefore).toBeLessThanOrEqual(40)
  // The file has the next secret before this authorization server knows it.
  api.auth.clientSecret = CLIENT_SECRET
  expect((await readGuides()).status).toBe(200)
  api.auth.clientSecret = 'prs_one_that_nobody_has_told_us'
  const countBefore = api.auth.requests.introspection
  expectProblem(await readGuides(), { status: 503, code: 'unavailable' })
  // One with the current secret, and one with the previous.
  expect(api.auth.requests.introspection - countBefore).toBe(2)
  expect(api.logLines.join('')).not.toMatch(/prs_/)
})
