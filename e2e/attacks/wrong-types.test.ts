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
  system = resources.use(await startSystem({ limitsFactor: 1_000_000 }))
  const targets = resources.use(await openTargets(system))
  context = { system, targets, stored: resources.use(await openStoredCounts(system)) }
})
afterAll(() => resources.disposeAsync())

const listMembers = ({ operation: { request } }: Target) =>
  request?.body ? Object.keys((request.body as z.ZodObject).shape) : []
const listTargets = (kind: Target['kind']) => context.targets.all.filter((target) => target.kind === kind)
const getExpectedStatuses = (target: Target, verdict: Verdict) =>
  verdict === 'accepted' ? target.acceptedStatuses : [verdict]
/** The strings that a form or a query can contain: lone surrogates cannot be encoded. */
const FORM_TEXTS = NASTY_TEXTS.filter((text) => text.isWellFormed())

/** Fewer strings, for operations without query parameters, which ignore the whole query. */
const SOME_TEXTS = ['', '-1', '%00', "' or 1=1 --", 'x'.repeat(5_000)]

describe('wrong values:', () => {
  test(
    'a JSON body, or one of its members, of any type is accepted or refused as the schema and the limits say',
    async () => {
      for (const target of listTargets('json')) {
        const validBody = JSON.parse(String((await target.createValidRequest()).body)) as object
        const wrongValues = WRONG_TYPES.map(([, value]) => value)
        const bodies = [
          ...wrongValues,
          ...listMembers(target).flatMap((member) =>
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
    'a wrong value of any form field, instead of the valid one, after it and twice, is accepted or refused as the standards say',
    async () => {
      for (const target of listTargets('form')) {
        const validValues = { clientId: context.targets.agent.client_id, resource: `${system.origin}/api` }
        const { body } = await target.createValidRequest()
        const validFields = [...new URLSearchParams(String(body))] as [string, string][]
        const forms = [...listMembers(target), 'unknown'].flatMap((member) => {
          const otherFields = validFields.filter(([name]) => name !== member)
          return FORM_TEXTS.flatMap((value): (readonly [string, string])[][] => [
            [...otherFields, [member, value]],
            [...validFields, [member, value]],
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
    'a wrong value of any query parameter, known or unknown, is accepted or refused as the schema says',
    async () => {
      for (const target of context.targets.all) {
        const query = target.operation.request?.query as z.ZodObject | undefined
        const cases: AttackCase[] = []
        const parameters = Object.keys(query?.shape ?? {})
        for (const name of [...parameters, 'fields', 'unknown'])
          for (const value of parameters.length > 0 ? FORM_TEXTS : SOME_TEXTS) {
            const sent = await target.createValidRequest()
            const path = `${sent.path}?${new URLSearchParams([[name, value]]).toString()}`
            // The service accepts only cursors that it issued, which the schema cannot express.
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

test('no log line is an error, or contains an e-mail address, a secret or a dangerous text', () => {
  const logged = system.logged.join('')
  expect(logged).not.toMatch(/"level":"error"/)
  expect(logged).not.toMatch(/example\.org|drop table|<script|etc\/passwd/)
  for (const secret of [context.targets.agent.client_secret, context.targets.token])
    expect(logged).not.toContain(secret)
})
