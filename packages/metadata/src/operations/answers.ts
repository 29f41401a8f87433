import { Answer, AnswerRequest, TriggerList } from '@plainpath/domain'
import { z } from 'zod'
import { defineOperation } from './operation.ts'

const AnswerQuery = z.object({
  explain: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: '`true` adds the rules and scores that decided.' }),
})

const TWO_STEPS =
  'Ask in two steps. First send the question alone. If the response has `check`, put these questions to the person, and ' +
  'again send the same question with their answers as `facts`. If you know more of the person than the question says, ' +
  'read `GET /triggers` and send as `facts` what they told you: a fact can add a hand-off, and never takes one away.'

export const answerQuestion = defineOperation({
  method: 'post',
  path: '/api/answers',
  operationId: 'answerQuestion',
  tag: 'Answers',
  summary: 'Answer a question from the guides, or hand the person to an attorney',
  description:
    `${TWO_STEPS} It is deterministic and uses no language model: every sentence is one of a guide, of a trigger or a fixed ` +
    'text. The question is neither stored nor logged. While our staff has paused answers it is 503 `answers-paused`, with ' +
    '`findHelp`. Public: no token is needed, and scripts of any origin may send it. A token that is sent must be valid.',
  access: 'public',
  request: { body: AnswerRequest, query: AnswerQuery },
  bodyExamples: {
    question: () => ({ question: 'When do I renew my green card?' }),
    facts: () => ({ question: 'When do I renew my green card?', facts: { 'long-absence': true } }),
  },
  responses: { 200: Answer },
  outcomes: {
    200: {
      description:
        '`information`: passages, and questions to put to the person. `hand_off`: why an attorney is needed, what to do ' +
        'now, and where to find help. `out_of_scope`: no guide answers, and why.',
      example: (urls) => ({
        outcome: 'information',
        passages: [
          {
            id: 'renew-green-card#when-to-renew',
            guide: 'renew-green-card',
            heading: 'When to renew',
            text: 'You can renew within six months before the day on which your card ends.',
            markdown: 'You can renew within six months before the day on which your card ends. [1]',
            url: `${urls.guide('renew-green-card')}#when-to-renew`,
            answers: true,
            sources: [
              {
                title: 'Replace Your Green Card',
                url: 'https://www.uscis.gov/green-card/after-we-grant-your-green-card/replace-your-green-card',
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
  summary: 'List what hands a person to an attorney',
  description:
    'Each trigger has a question that is answered with yes or no. Read them once, compare them with what the person has ' +
    'told you, and send what applies as `facts` of `POST /answers`. A trigger that our staff disabled is not listed. ' +
    'Public: no token is needed.',
  access: 'public',
  cache: 'public',
  responses: { 200: TriggerList },
  outcomes: {
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
