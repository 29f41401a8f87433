import { ALL_HELP, type Answer, AnswerRequest, RULES, TriggerId } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  groupDigits,
  LEAVE_HEADERS,
  renderAnsweredPage,
  renderAskPage,
  renderNoAnswersPage,
  renderQuickExit,
} from '@plainpath/pages'
import { z } from 'zod'
import type { AnswerService } from '../answers/answer-service.ts'
import { createFormResponse, FormText, PAGE } from './page.ts'
import { renderMarkdown } from './render-markdown.ts'

/** The form has a field for each trigger, `yes` or `no`. The button "none of these" lists the denied triggers in `none`. */
const AskForm = z.looseObject({ question: FormText, none: FormText })

const TITLE = 'Ask a question'

function describeMistake(text: string): string {
  const count = [...text.replaceAll('\r\n', '\n').trim()].length
  if (count === 0) return 'Write your question in the box, then press Ask.'
  return count > RULES.questionCharacters
    ? `Your question has ${groupDigits(count)} characters. Shorten it to ${groupDigits(RULES.questionCharacters)}.`
    : 'Your question has signs that we cannot read. Type it again.'
}

/** Creates a response for `/ask`. The page has the quick exit, and neither the window nor the history shows an answer's title. */
const createAskPageResponse = <Status extends number>(
  urls: ServiceUrls,
  status: Status,
  page: Pick<Parameters<typeof createFormResponse>[2], 'title' | 'neutralTitle' | 'noindex' | 'body'>,
) => {
  const { headers, ...response } = createFormResponse(urls, status, {
    path: '/ask',
    place: 'ask',
    quickExit: renderQuickExit(),
    ...page,
  })
  return { ...response, headers: { ...headers, ...LEAVE_HEADERS } }
}

/**
 * Creates the routes for the page where people ask questions. Question and facts are sent in the body of a POST, so no URL
 * contains them. No answer is stored.
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
    summary: 'The form to ask a question',
    handle: () => createAskPageResponse(urls, 200, { title: TITLE, body: renderAskPage() }),
  })
  const askRoute = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/ask',
    operationId: 'askByForm',
    summary: 'Answers the form',
    form: true,
    request: { body: AskForm },
    responses: { 200: z.string(), 400: z.string(), 503: z.string() },
    handle({ body: { question: typedQuestion, none, ...fields } }) {
      const respond = <Status extends number>(
        status: Status,
        content: Pick<Parameters<typeof createAskPageResponse>[2], 'title' | 'body'>,
      ) => createAskPageResponse(urls, status, { noindex: true, neutralTitle: TITLE, ...content })
      if (answers.state().status !== 'ok') {
        const body = renderNoAnswersPage(ALL_HELP)
        return respond(503, { title: 'We cannot answer questions now', body })
      }
      const request = AnswerRequest.safeParse({ question: typedQuestion, facts: readFormFacts(fields, none) })
      if (!request.success) {
        const body = renderAskPage({ question: typedQuestion, mistake: describeMistake(typedQuestion) })
        return createAskPageResponse(urls, 400, { noindex: true, title: 'Mistake: ask a question', body })
      }
      const { question, facts } = request.data
      const answer = answers.answer(request.data)
      const passageHtml = answer.passages.map((passage, index) => renderPassage(passage, index, urls.origin))
      return respond(200, renderAnsweredPage({ question, facts: facts ?? {}, answer, passageHtml }))
    },
  })
  return [pageRoute, askRoute]
}

/**
 * Reads the facts that a person stated. Ignores fields that are not trigger ids. A `yes` counts even if the person then pressed
 * the button that denies all triggers.
 */
function readFormFacts(fields: Readonly<Record<string, unknown>>, none: string): Record<string, boolean> {
  const deniedFacts = none.split(' ').map((trigger): [string, boolean] => [trigger, false])
  const chosenFacts = Object.entries(fields).map(([trigger, value]): [string, boolean] => [
    trigger,
    value === 'yes',
  ])
  return Object.fromEntries(
    [...deniedFacts, ...chosenFacts].filter(([trigger]) => TriggerId.safeParse(trigger).success),
  )
}

/** Renders a passage. Source marks link to the source list below it, and links to our own pages become relative. */
const renderPassage = ({ markdown }: Answer['passages'][number], index: number, origin: string) =>
  renderMarkdown(
    markdown
      .replaceAll(`](${origin}/`, '](/')
      .replaceAll(/\[(\d+)\]/g, `[\\[$1\\]](#source-${index + 1}-$1)`),
  )
