import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { CLIENT_SECRET } from './fake-authorization-server.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { startResource } from './start-resource.ts'

const NEXT = 'prs_the_secret_that_comes_after_it'

test('when its secret is refused the API reads its file at once, and no request fails', async () => {
  await using api = await startResource()
  const token = api.auth.issue()
  const read = () =>
    sendRequest(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })
  expect((await read()).status).toBe(200)
  await writeFile(path.join(api.keys, 'client-secret'), `${NEXT}\n`)
  api.auth.clientSecret = NEXT
  const introspectionsBefore = api.auth.requests.introspection
  const responses = await Promise.all(Array.from({ length: 20 }, read))
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(api.auth.requests.introspection - introspectionsBefore).toBeLessThanOrEqual(40)
  // The file is ahead of this authorization server.
  api.auth.clientSecret = CLIENT_SECRET
  expect((await read()).status).toBe(200)
  api.auth.clientSecret = 'prs_one_that_nobody_has_told_us'
  const earlier = api.auth.requests.introspection
  expectProblem(await read(), { status: 503, code: 'unavailable' })
  expect(api.auth.requests.introspection - earlier).toBe(2)
  expect(api.logged.join('')).not.toMatch(/prs_/)
})
