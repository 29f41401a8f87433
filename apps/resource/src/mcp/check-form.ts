import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { type Answer, type AnswerRequest, mayAskInForm, RULES, TriggerId } from '@plainpath/domain'
import { z } from 'zod'

type CheckQuestion = Answer['check'][number]

/** The choices of each question, in the order in which the form shows them. Only `Yes` and `No` state a fact. */
const CHOICES = ['Yes', 'No', 'I do not know'] as const

/** A form with check questions of an answer, which the client shows to the person. */
export interface CheckForm {
  readonly params: Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'>
  /** The triggers that the form asks about. */
  readonly askedTriggers: readonly string[]
}

/**
 * Creates a form with the first check questions of an answer that a form may ask: none about crime, abuse, fear, health or
 * status (see `mayAskInForm`).
 *
 * @param askPageUrl the URL where the person can ask without an app
 * @returns undefined if the answer has no question that a form may ask
 */
export function createCheckForm({ check }: Pick<Answer, 'check'>, askPageUrl: string): CheckForm | undefined {
  const questions = check.filter(({ trigger }) => mayAskInForm(trigger)).slice(0, RULES.formQuestions)
  if (questions.length === 0) return undefined
  const createProperty = ({ trigger, ask }: CheckQuestion) =>
    [trigger, { type: 'string' as const, title: ask, enum: [...CHOICES] }] as const
  return {
    params: {
      message:
        'Your answers can change which information fits your situation. Answer only what you want to. The app that you use ' +
        `sees your answers. To ask without the app, open ${askPageUrl} in a browser.`,
      requestedSchema: { type: 'object', properties: Object.fromEntries(questions.map(createProperty)) },
    },
    askedTriggers: questions.map(({ trigger }) => trigger),
  }
}

const FormResponse = z.looseObject({
  action: z.literal('accept'),
  content: z.record(z.string(), z.unknown()),
})

/**
 * Reads the facts from a form that the client sent back: for each trigger, whether it applies to the person. Returns no facts
 * if the person declined or closed the form. Ignores answers to questions that the form did not ask.
 */
export function readFormFacts(
  response: unknown,
  askedTriggers: readonly string[],
): NonNullable<AnswerRequest['facts']> {
  const { data } = FormResponse.safeParse(response)
  const facts = TriggerId.options.flatMap((trigger) => {
    const choice = askedTriggers.includes(trigger) ? data?.content[trigger] : undefined
    return choice === 'Yes' || choice === 'No' ? [[trigger, choice === 'Yes'] as const] : []
  })
  return Object.fromEntries(facts)
}
