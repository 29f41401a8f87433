import { randomUUID } from 'node:crypto'
import { Plainpath } from '@plainpath/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

let system: SystemWithMail
beforeAll(async () => {
  system = await startSystemWithMail()
})
afterAll(() => system[Symbol.asyncDispose]())

const unescapeHtml = (markup: string) =>
  markup.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

type RunLine = (values: Record<string, unknown>) => Promise<unknown>

/** Compiles a line of the page, which can use the variables `plainpath`, `email`, `code` and `id`. */
const compileLine = (line: string): RunLine => {
  // oxlint-disable-next-line no-implied-eval -- the test runs the line that readers copy
  const run = new Function('plainpath', 'email', 'code', 'id', `return (async () => (${line}))()`)
  return ({ plainpath, email, code, id }) => run(plainpath, email, code, id) as Promise<unknown>
}

test('each line of client code in /docs does what the documented operation does', async () => {
  const page = await (await fetch(`${system.origin}/docs`)).text()
  const lineByOperation = new Map(
    page.split('<h3 id="').flatMap((section): [string, RunLine][] => {
      const line = /<code class="client">(await plainpath\..*)<\/code>/.exec(section)?.[1]
      return line === undefined ? [] : [[/^\w+/.exec(section)?.[0] ?? '', compileLine(unescapeHtml(line))]]
    }),
  )
  const values: Record<string, unknown> = {
    plainpath: new Plainpath(system.origin),
    email: `${randomUUID()}@example.org`,
  }
  /** Runs the line of an operation, and removes it from `lineByOperation`. */
  const call = (operationId: string) => {
    const runLine = lineByOperation.get(operationId)
    lineByOperation.delete(operationId)
    if (!runLine) throw new Error(`/docs has no line for ${operationId}`)
    return runLine(values)
  }

  expect(await call('answerQuestion')).toMatchObject({ outcome: 'hand_off' })
  expect(await call('listGuides')).toContainEqual(expect.objectContaining({ slug: 'work-permit' }))
  expect(await call('getGuide')).toMatchObject({ slug: 'work-permit' })
  expect(await call('registerAgent')).toMatchObject({ client_id: expect.stringMatching(/^agt_/) })
  const { match_phrase } = (await call('beginClaim')) as { match_phrase: string }
  values['code'] = await system.confirm(String(values['email']), match_phrase)
  await call('completeClaim')
  values['id'] = ((await call('sendContactMessage')) as { id: string }).id
  expect(await call('getContactMessage')).toMatchObject({ status: 'received' })
  await call('deleteContactMessage')
  await call('deleteAgent')
  // Each call above removed its line, so no line of the page is left untested.
  expect([...lineByOperation.keys()]).toEqual([])
})
