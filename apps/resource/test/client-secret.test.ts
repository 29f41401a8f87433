import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ask, expectProblem } from './ask.ts'
import { CLIENT_SECRET } from './fake-authorization-server.ts'
import { startResource } from './start-resource.ts'

const NEXT = 'prs_the_secret_that_comes_after_it'

test('when its secret is refused the API reads its file at once, and no request fails', async () => {
  await using api = await startResource()
  const token = api.auth.issue()
  const read = () => ask(api.origin, { path: '/api/guides', headers: { authorization: `Bearer ${token}` } })
  expect((await read()).status).toBe(200)
  await writeFile(path.join(api.keys, 'client-secret'), `${NEXT}\n`)
  api.auth.clientSecret = NEXT
  const before = api.auth.asked.introspection
  const answers = await Promise.all(Array.from({ length: 20 }, read))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(api.auth.asked.introspection - before).toBeLessThanOrEqual(40)
  // The file is ahead of this authorization server.
  api.auth.clientSecret = CLIENT_SECRET
  expect((await read()).status).toBe(200)
  api.auth.clientSecret = 'prs_one_that_nobody_has_told_us'
  const asked = api.auth.asked.introspection
  expectProblem(await read(), { status: 503, code: 'unavailable' })
  expect(api.auth.asked.introspection - asked).toBe(2)
  expect(api.logged.join('')).not.toMatch(/prs_/)
})
