import { ALL_HELP, type Answer, AnswerRequest, RULES, TriggerId } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  groupDigits,
  LEAVE_HEADERS,
  type Page,
  renderAnsweredPage,
  renderAskPage,
  renderNoAnswersPage,
  renderQuickExit,
} from '@plainpath/pages'
import { z } from 'zod'
import { type AnswerService, createRetryHeaders } from '../answers/answer-service.ts'
import { LIMITS } from '../limits.ts'
import { createFormResponse, FormText, PAGE } from './page.ts'
import { renderMarkdown } from './render-markdown.ts'

/**
 * The fields of the question form and of the form with the check questions. Each check question adds a field that has
 * the name of its trigger and the value `yes` or `no`. The button “None of these applies” sends, as `none`, the ids of the
 * triggers that are shown, separated by spaces.
 */
const AskForm = z.looseObject({ question: FormText, none: FormText })

const TITLE = 'Ask a question'

/**
 * Describes why a question was refused. Counts its characters as `AnswerRequest` does: in code points, with `\n` line endings.
 */
function describeMistake(text: string): string {
  const count = [...text.replaceAll('\r\n', '\n').trim()].length
  if (count === 0) return 'Write your question in the box, then press Ask.'
  return count > RULES.questionCharacters
    ? `Your question has ${groupDigits(count)} characters. Shorten it to at most ${groupDigits(RULES.questionCharacters)}.`
    : 'Your question contains characters that we cannot read. Please type it again.'
}

/** Creates a response for `/ask`, with the quick exit and its headers, which permit our scripts and forbid storing the page. */
const createAskPageResponse = <Status extends number>(
  urls: ServiceUrls,
  status: Status,
  page: Pick<Page, 'title' | 'neutralTitle' | 'noindex' | 'body'>,
) => {
  const { headers, ...response } = createFormResponse(urls, status, {
    path: '/ask',
    navigationEntry: 'ask',
    quickExit: renderQuickExit(),
    ...page,
  })
  return { ...response, headers: { ...headers, ...LEAVE_HEADERS } }
}

/**
 * Creates the routes for the page where people ask questions. The question and the facts are sent in the body of a POST, so no
 * URL contains them. Answers are not stored.
 */
export function createAskPageRoutes({
  answers,
  urls,
}: {
  answers: AnswerService
  urls: ServiceUrls
}): Route[] {
  const pageRoute = defineRoute({
    ...PAGE,
    path: '/ask',
    operationId: 'askPage',
    summary: 'The form for asking a question',
    handle: () => createAskPageResponse(urls, 200, { title: TITLE, body: renderAskPage() }),
  })
  const askRoute = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/ask',
    operationId: 'askByForm',
    summary: 'Answers a question from the form',
    limits: LIMITS.reads,
    form: true,
    request: { body: AskForm },
    responses: { 200: z.string(), 400: z.string(), 503: z.string() },
    handle({ body: { question: typedQuestion, none: deniedTriggers, ...fields } }) {
      // A title can reveal the person's situation, so the window and the browser history show a neutral title.
      const respond = <Status extends number>(status: Status, content: Pick<Page, 'title' | 'body'>) =>
        createAskPageResponse(urls, status, { noindex: true, neutralTitle: TITLE, ...content })
      const { status } = answers.getState()
      if (status !== 'ok') {
        const title = 'We cannot answer questions right now'
        const { headers, ...response } = respond(503, { title, body: renderNoAnswersPage(ALL_HELP) })
        return { ...response, headers: { ...headers, ...createRetryHeaders(status) } }
      }
      const parsed = AnswerRequest.safeParse({
        question: typedQuestion,
        facts: readStatedFacts(fields, deniedTriggers),
      })
      if (!parsed.success) {
        const body = renderAskPage({ question: typedQuestion, mistake: describeMistake(typedQuestion) })
        return createAskPageResponse(urls, 400, { noindex: true, title: `Error: ${TITLE}`, body })
      }
      const { question, facts } = parsed.data
      const answer = answers.answer(parsed.data)
      const passageHtml = answer.passages.map((passage, index) => renderPassage(passage, index, urls.origin))
      return respond(200, renderAnsweredPage({ question, facts: facts ?? {}, answer, passageHtml }))
    },
  })
  return [pageRoute, askRoute]
}

/**
 * Reads the facts that a person stated. Ignores fields that are not trigger ids, and values other than `yes` and `no`. A `yes` counts
 * even if the person then pressed “None of these applies”.
 *
 * @param deniedTriggers the ids that this button sent, separated by spaces
 */
function readStatedFacts(
  fields: Readonly<Record<string, unknown>>,
  deniedTriggers: string,
): Record<string, boolean> {
  const deniedFacts = deniedTriggers.split(' ').map((trigger): [string, boolean] => [trigger, false])
  const chosenFacts = Object.entries(fields)
    .filter(([, value]) => value === 'yes' || value === 'no')
    .map(([trigger, value]): [string, boolean] => [trigger, value === 'yes'])
  return Object.fromEntries(
    [...deniedFacts, ...chosenFacts].filter(([trigger]) => TriggerId.safeParse(trigger).success),
  )
}

/**
 * Renders a passage. Links to our own pages become relative, and source markers such as `[1]` link to the list below the passage.
 */
const renderPassage = ({ markdown }: Answer['passages'][number], index: number, origin: string) =>
  renderMarkdown(
    markdown
      .replaceAll(`](${origin}/`, '](/')
      .replaceAll(/\[(\d+)\]/g, `[\\[$1\\]](#source-${index + 1}-$1)`),
  )
