import { Answer, AnswerRequest, TriggerList } from '@plainpath/domain'
import { z } from 'zod'
import { defineOperation } from './operation.ts'

const AnswerQuery = z.object({
  explain: z
    .enum(['true', 'false'])
    .optional()
    .meta({ param: { description: '`true` adds the rules and scores that decided, as `explain`.' } }),
})

export const answerQuestion = defineOperation({
  method: 'post',
  path: '/api/answers',
  operationId: 'answerQuestion',
  tag: 'Answers',
  summary: 'Answer a question from the guides, or hand the person to an attorney',
  description:
    'Ask in two steps. First send the question alone. If the response has `check`, put these questions to the person, and ' +
    'send the same question with all answers so far as `facts`, and with what else of `GET /api/triggers` applies; repeat ' +
    'until `check` is empty. A fact can add a hand-off, and never removes one.\n\n' +
    'No language model is used: every sentence is from a guide, a trigger or a fixed text. The question is neither stored ' +
    'nor logged. While staff have paused answers: 503 `answers-paused` with `findHelp`. Scripts of any origin may call it. ' +
    'A token is optional.',
  access: 'public',
  request: { body: AnswerRequest, query: AnswerQuery },
  bodyExamples: {
    question: () => ({ question: 'When do I renew my green card?' }),
    facts: () => ({ question: 'When do I renew my green card?', facts: { 'long-absence': true } }),
  },
  responses: { 200: Answer },
  responseDocs: {
    200: {
      description:
        '`information`: passages, and questions to put to the person. `hand_off`: why an attorney is needed, and what to do ' +
        'now. `out_of_scope`: why no guide answers, and perhaps questions to put to the person.',
      example: (urls) => ({
        outcome: 'information',
        passages: [
          {
            id: 'renew-green-card#when-to-renew',
            guide: 'renew-green-card',
            guideTitle: 'Renew a 10-year green card (Form I-90)',
            heading: 'When to renew',
            text: 'You can renew within six months before the card ends.',
            markdown: 'You can renew within six months before the card ends. [1]',
            url: `${urls.guide('renew-green-card')}#when-to-renew`,
            answers: true,
            sources: [
              {
                title: 'Replace Your Green Card',
                url: 'https://www.uscis.gov/i-90',
                agency: 'U.S. Citizenship and Immigration Services',
                checked: '2026-11-20',
                stale: false,
              },
            ],
          },
        ],
        check: [
          {
            trigger: 'long-absence',
            ask: 'Were you, or will you be, outside the US for a year or more at one time?',
          },
        ],
        disclaimer: 'This guide is information, not legal advice.',
        answersVersion: 'Z9COYlQiZL3nWFyJ',
      }),
    },
  },
})

export const listTriggers = defineOperation({
  method: 'get',
  path: '/api/triggers',
  operationId: 'listTriggers',
  tag: 'Answers',
  summary: 'List the triggers that hand a person to an attorney',
  description:
    'Compare them with what the person told you, and send those that apply as `facts` of `POST /api/answers`. Triggers that ' +
    'staff disabled are not listed. A token is optional.',
  access: 'public',
  cache: 'public',
  responses: { 200: TriggerList },
  responseDocs: {
    200: {
      description: 'The triggers, the most urgent first.',
      example: () => ({
        triggers: [
          {
            id: 'long-absence',
            urgency: 'normal',
            why: 'A long time outside the United States can end permanent residence.',
            ask: 'Were you, or will you be, outside the US for a year or more at one time?',
            source: {
              title: 'International Travel as a Permanent Resident',
              url: 'https://www.uscis.gov/green-card/after-we-grant-your-green-card/international-travel-as-a-permanent-resident',
            },
            version: 'pX3mZb0qkLr7sT2v',
          },
        ],
      }),
    },
  },
})
