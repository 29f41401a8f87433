import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { type Answer, type AnswerRequest, mayAskInForm, RULES, TriggerId } from '@plainpath/domain'
import { z } from 'zod'

type Check = Answer['check'][number]

/** The person's words for an answer, in the order of the form. Others count as no answer. */
const CHOICES = ['Yes', 'No', 'I do not know'] as const

/** A form with check questions of an answer, as a client shows it. */
export interface CheckForm {
  readonly params: Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'>
  /** The triggers whose questions it has. */
  readonly asked: readonly string[]
}

/**
 * Creates a form with the first check questions of an answer, without those about crime, abuse, fear and status.
 *
 * @param askPage the address where the person can ask without an app
 * @returns undefined if the answer has no question for a form
 */
export function checkForm({ check }: Pick<Answer, 'check'>, askPage: string): CheckForm | undefined {
  const asked = check.filter(({ trigger }) => mayAskInForm(trigger)).slice(0, RULES.formQuestions)
  if (asked.length === 0) return undefined
  const property = ({ trigger, ask }: Check) =>
    [trigger, { type: 'string' as const, title: ask, enum: [...CHOICES] }] as const
  return {
    params: {
      message:
        'Your answers can change what is right for you. Answer only what you want to. The app that you use sees your answers; ' +
        `at ${askPage} you can ask without it.`,
      requestedSchema: { type: 'object', properties: Object.fromEntries(asked.map(property)) },
    },
    asked: asked.map(({ trigger }) => trigger),
  }
}

const Response = z.looseObject({
  action: z.literal('accept'),
  content: z.record(z.string(), z.unknown()),
})

/**
 * Reads the facts from a form that came back. A form that was declined or closed has none, and so has a question that it did not
 * ask.
 */
export function readFacts(response: unknown, asked: readonly string[]): NonNullable<AnswerRequest['facts']> {
  const { data } = Response.safeParse(response)
  const answers = TriggerId.options.flatMap((trigger) => {
    const choice = asked.includes(trigger) ? data?.content[trigger] : undefined
    return choice === 'Yes' || choice === 'No' ? [[trigger, choice === 'Yes'] as const] : []
  })
  return Object.fromEntries(answers)
}
