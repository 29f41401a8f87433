import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type System, startSystem } from '../in-process/start-system.ts'
import { openStoredCounts } from '../stored-counts.ts'
import { type AttackCase, type AttackContext, attackWithAll } from './attack.ts'
import { TIMEOUT_MS } from './attack-runs.ts'
import { judgeForm, judgeJson, type Verdict } from './oracle.ts'
import { openTargets, type Target } from './target.ts'
import { NASTY_TEXTS, WRONG_TYPES } from './wrong-values.ts'

const resources = new AsyncDisposableStack()
let system: System
let context: AttackContext
beforeAll(async () => {
  // The tests must not reach the rate limits, which would refuse the requests early.
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  const targets = resources.use(await openTargets(system))
  context = { system, targets, stored: resources.use(await openStoredCounts(system)) }
})
afterAll(() => resources.disposeAsync())

/** Lists the top-level members of a JSON body or the fields of a form, from the operation's schema. */
const listBodyFields = ({ operation: { request } }: Target) =>
  request?.body ? Object.keys((request.body as z.ZodObject).shape) : []
const listTargets = (kind: Target['kind']) => context.targets.all.filter((target) => target.kind === kind)
const getExpectedStatuses = (target: Target, verdict: Verdict) =>
  verdict === 'accepted' ? target.acceptedStatuses : [verdict]
/** The strings that a form or a query can contain: lone surrogates cannot be encoded. */
const FORM_TEXTS = NASTY_TEXTS.filter((text) => text.isWellFormed())

/** Fewer strings, for operations without query parameters, which ignore the whole query. */
const IGNORED_QUERY_TEXTS = ['', '-1', '%00', "' or 1=1 --", 'x'.repeat(5_000)]

describe('wrong values:', () => {
  test(
    'a JSON body of any type, or with a member of any type, gets a status that its schema and the limits permit',
    async () => {
      for (const target of listTargets('json')) {
        const validBody = JSON.parse(String((await target.createValidRequest()).body)) as object
        const wrongValues = WRONG_TYPES.map(([, value]) => value)
        const bodies = [
          ...wrongValues,
          ...listBodyFields(target).flatMap((member) =>
            [...wrongValues, ...NASTY_TEXTS].map((value) => ({ ...validBody, [member]: value })),
          ),
        ]
        const cases = bodies.map(async (body): Promise<AttackCase> => {
          const text = JSON.stringify(body)
          return {
            sent: await target.withBody(text),
            statuses: getExpectedStatuses(target, judgeJson(target, text)),
          }
        })
        await attackWithAll(context, target, await Promise.all(cases))
      }
    },
    TIMEOUT_MS,
  )

  test(
    'a form with a replaced, appended or repeated field gets a status that the RFCs permit',
    async () => {
      for (const target of listTargets('form')) {
        const validValues = { clientId: context.targets.agent.client_id, resource: `${system.origin}/api` }
        const { body } = await target.createValidRequest()
        const validFields = [...new URLSearchParams(String(body))] as [string, string][]
        const forms = [...listBodyFields(target), 'unknown'].flatMap((member) => {
          const otherFields = validFields.filter(([name]) => name !== member)
          return FORM_TEXTS.flatMap((value): (readonly [string, string])[][] => [
            // Instead of the valid value.
            [...otherFields, [member, value]],
            // After the valid value.
            [...validFields, [member, value]],
            // Twice.
            [...otherFields, [member, value], [member, value]],
          ])
        })
        const cases = forms.map(async (fields): Promise<AttackCase> => {
          return {
            sent: await target.withFields(fields),
            statuses: getExpectedStatuses(target, judgeForm(target, fields, validValues)),
          }
        })
        await attackWithAll(context, target, await Promise.all(cases))
      }
    },
    TIMEOUT_MS,
  )

  test(
    'any value of a known or unknown query parameter gets a status that its schema permits',
    async () => {
      for (const target of context.targets.all) {
        const query = target.operation.request?.query as z.ZodObject | undefined
        const cases: AttackCase[] = []
        const parameters = Object.keys(query?.shape ?? {})
        // Many other APIs have a parameter `fields`. No operation here has one.
        for (const name of [...parameters, 'fields', 'unknown'])
          for (const value of parameters.length > 0 ? FORM_TEXTS : IGNORED_QUERY_TEXTS) {
            const sent = await target.createValidRequest()
            const path = `${sent.path}?${new URLSearchParams([[name, value]]).toString()}`
            // An operation without a query schema ignores the query. The service accepts only cursors that it issued, which
            // the schema cannot express.
            const isAccepted =
              query === undefined || (query.safeParse({ [name]: value }).success && name !== 'cursor')
            cases.push({ sent: { ...sent, path }, statuses: isAccepted ? target.acceptedStatuses : [400] })
          }
        await attackWithAll(context, target, cases)
      }
    },
    TIMEOUT_MS,
  )
})

/** The domain of the e-mail addresses in these tests, and parts of attack strings that must not be logged. */
const ATTACK_TRACES = /example\.org|drop table|<script|etc\/passwd/

test('the tests above cause no error in the log, and leave no e-mail address, secret or attack string there', () => {
  const logged = system.logged.join('')
  expect(logged).not.toMatch(/"level":"error"/)
  expect(logged).not.toMatch(ATTACK_TRACES)
  for (const secret of [context.targets.agent.client_secret, context.targets.token])
    expect(logged).not.toContain(secret)
})
