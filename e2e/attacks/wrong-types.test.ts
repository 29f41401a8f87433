import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type System, startSystem } from '../in-process/start-system.ts'
import { openStoredCounts } from '../stored-counts.ts'
import { attackWithAll, type Battlefield, type Expected } from './attack.ts'
import { TIMEOUT_MS } from './attack-runs.ts'
import { formVerdict, jsonVerdict } from './oracle.ts'
import { openTargets, type Target } from './target.ts'
import { NASTY_TEXTS, WRONG_TYPES } from './wrong-values.ts'

const resources = new AsyncDisposableStack()
let system: System
let field: Battlefield
beforeAll(async () => {
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  const targets = resources.use(await openTargets(system))
  field = { system, targets, stored: resources.use(await openStoredCounts(system)) }
})
afterAll(() => resources.disposeAsync())

const membersOf = ({ operation: { request } }: Target) =>
  request?.body ? Object.keys((request.body as z.ZodObject).shape) : []
const byKind = (kind: Target['kind']) => field.targets.all.filter((target) => target.kind === kind)
const statusesFor = (target: Target, verdict: ReturnType<typeof jsonVerdict>) =>
  verdict === 'accepted' ? target.accepted : [verdict]
/** The types that a URL can carry. */
const FORM_TEXTS = NASTY_TEXTS.filter((text) => text.isWellFormed())

/** For operations without query parameters, which ignore the whole query. */
const SOME_TEXTS = ['', '-1', '%00', "' or 1=1 --", 'x'.repeat(5_000)]

describe('values of every wrong type:', () => {
  test(
    'every JSON body and each of its members is refused or accepted as its schema says',
    async () => {
      for (const target of byKind('json')) {
        const good = JSON.parse(String((await target.valid()).body)) as object
        const wrong = WRONG_TYPES.map(([, value]) => value)
        const bodies = [
          ...wrong,
          ...membersOf(target).flatMap((member) =>
            [...wrong, ...NASTY_TEXTS].map((value) => ({ ...good, [member]: value })),
          ),
        ]
        const cases = bodies.map(async (body): Promise<Expected> => {
          const text = JSON.stringify(body)
          return {
            sent: await target.withBody(text),
            statuses: statusesFor(target, jsonVerdict(target, text)),
          }
        })
        await attackWithAll(field, target, await Promise.all(cases))
      }
    },
    TIMEOUT_MS,
  )

  test(
    'every field of a form, alone, beside the right one and twice, is refused or accepted as the standards say',
    async () => {
      for (const target of byKind('form')) {
        const known = { clientId: field.targets.agent.client_id, base: `${system.origin}/api` }
        const good = [...new URLSearchParams(String((await target.valid()).body))] as [string, string][]
        const forms = [...membersOf(target), 'unknown'].flatMap((member) => {
          const others = good.filter(([name]) => name !== member)
          return FORM_TEXTS.flatMap((value): (readonly [string, string])[][] => [
            [...others, [member, value]],
            [...good, [member, value]],
            [...others, [member, value], [member, value]],
          ])
        })
        const cases = forms.map(async (fields): Promise<Expected> => {
          return {
            sent: await target.withFields(fields),
            statuses: statusesFor(target, formVerdict(target, fields, known)),
          }
        })
        await attackWithAll(field, target, await Promise.all(cases))
      }
    },
    TIMEOUT_MS,
  )

  test(
    'every parameter of a query is refused or ignored as its schema says, and so are unknown ones',
    async () => {
      for (const target of field.targets.all) {
        const query = target.operation.request?.query as z.ZodObject | undefined
        const cases: Expected[] = []
        const known = Object.keys(query?.shape ?? {})
        for (const name of [...known, 'fields', 'unknown'])
          for (const value of known.length > 0 ? FORM_TEXTS : SOME_TEXTS) {
            const sent = await target.valid()
            const path = `${sent.path}?${new URLSearchParams([[name, value]]).toString()}`
            const fits =
              query === undefined || (query.safeParse({ [name]: value }).success && name !== 'cursor')
            cases.push({ sent: { ...sent, path }, statuses: fits ? target.accepted : [400] })
          }
        await attackWithAll(field, target, cases)
      }
    },
    TIMEOUT_MS,
  )
})

test('no log line contains any of these values', () => {
  const logged = system.logged.join('')
  expect(logged).not.toMatch(/"level":"error"/)
  expect(logged).not.toMatch(/example\.org|drop table|<script|etc\/passwd/)
  for (const secret of [field.targets.agent.client_secret, field.targets.token])
    expect(logged).not.toContain(secret)
})
