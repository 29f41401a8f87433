import { ALL_HELP, type Answer, AnswerRequest, RULES, TriggerId } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { answeredPage, askPage, groupDigits, LEAVE_HEADERS, leavePage, noAnswersPage } from '@plainpath/pages'
import { z } from 'zod'
import type { AnswerService } from '../answers/answer-service.ts'
import { answerForm, FormText, PAGE } from './page.ts'
import { renderMarkdown } from './render-markdown.ts'

/** A field for each trigger, `yes` or `no`; `none` names the triggers that its button denies. */
const AskForm = z.looseObject({ question: FormText, none: FormText })

const TITLE = 'Ask a question'

function mistakeIn(typed: string): string {
  const count = [...typed.replaceAll('\r\n', '\n').trim()].length
  if (count === 0) return 'Write your question first.'
  return count > RULES.questionCharacters
    ? `Your question has ${groupDigits(count)} characters. Shorten it to ${groupDigits(RULES.questionCharacters)}.`
    : 'Your question has signs that we cannot read. Type it again.'
}

/** Sends a page of `/ask`, with the quick exit. Of an answer, neither the window nor the history says what it was. */
const answerAsk = <Status extends number>(
  urls: ServiceUrls,
  status: Status,
  page: Pick<Parameters<typeof answerForm>[2], 'title' | 'neutralTitle' | 'noindex' | 'body'>,
) => {
  const { headers, ...answer } = answerForm(urls, status, {
    path: '/ask',
    place: 'ask',
    leave: leavePage(),
    ...page,
  })
  return { ...answer, headers: { ...headers, ...LEAVE_HEADERS } }
}

/** The page to ask on. All that a person says is in the body of a POST: no address has it, and nobody keeps the answer. */
export function askPageRoutes({ answers, urls }: { answers: AnswerService; urls: ServiceUrls }): Route[] {
  const page = defineRoute({
    ...PAGE,
    path: '/ask',
    operationId: 'askPage',
    summary: 'The form to ask a question',
    handle: () => answerAsk(urls, 200, { title: TITLE, body: askPage() }),
  })
  const ask = defineRoute({
    ...PAGE,
    method: 'post',
    path: '/ask',
    operationId: 'askByForm',
    summary: 'Answers the form',
    form: true,
    request: { body: AskForm },
    responses: { 200: z.string(), 400: z.string(), 503: z.string() },
    handle({ body: { question: typed, none, ...fields } }) {
      const respond = <Status extends number>(
        status: Status,
        content: Pick<Parameters<typeof answerAsk>[2], 'title' | 'body'>,
      ) => answerAsk(urls, status, { noindex: true, neutralTitle: TITLE, ...content })
      if (answers.state().status !== 'ok') {
        const body = noAnswersPage(ALL_HELP)
        return respond(503, { title: 'We cannot answer questions now', body })
      }
      const asked = AnswerRequest.safeParse({ question: typed, facts: statedFacts(fields, none) })
      if (!asked.success) {
        const body = askPage({ question: typed, mistake: mistakeIn(typed) })
        return answerAsk(urls, 400, { noindex: true, title: 'Mistake: ask a question', body })
      }
      const { question, facts } = asked.data
      const answer = answers.answer(asked.data)
      const passageHtml = answer.passages.map(passageText)
      const guideTitles = answer.passages.map(({ guide }) => answers.guideTitle(guide))
      return respond(200, answeredPage({ question, facts: facts ?? {}, answer, passageHtml, guideTitles }))
    },
  })
  return [page, ask]
}

/** A yes counts even if the person then pressed the button that denies all. What is no trigger's id is left out. */
function statedFacts(fields: Readonly<Record<string, unknown>>, none: string): Record<string, boolean> {
  const denied = none.split(' ').map((trigger): [string, boolean] => [trigger, false])
  const chosen = Object.entries(fields).map(([trigger, value]): [string, boolean] => [
    trigger,
    value === 'yes',
  ])
  return Object.fromEntries(
    [...denied, ...chosen].filter(([trigger]) => TriggerId.safeParse(trigger).success),
  )
}

/** Marks of sources become links to the sources below the passage. */
const passageText = ({ markdown }: Answer['passages'][number], index: number) =>
  renderMarkdown(markdown.replaceAll(/\[(\d+)\]/g, `[\\[$1\\]](#source-${index + 1}-$1)`))
