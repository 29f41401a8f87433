import { createHash } from 'node:crypto'
import {
  type AnswerOptions,
  answerQuestion,
  fixedHelp,
  type Knowledge,
  loadTriggers,
  prepareKnowledge,
} from '@plainpath/answers'
import { type Answer, type AnswersState, answerRequest, TriggerList } from '@plainpath/domain'
import { type Log, type PreparedAnswer, Problem, prepareAnswer, preparedOnce } from '@plainpath/http'
import type { z } from 'zod'
import { JSON_TYPE } from '../guides/guide-answers.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { AnswerMetrics } from './answer-metrics.ts'

const TRIGGERS = loadTriggers()

/** The triggers of this release. */
export const TRIGGER_IDS: ReadonlySet<string> = new Set(TRIGGERS.map(({ id }) => id))

/** The body of `POST /answers`, whose `facts` name triggers of this release. */
export const AskedQuestion = answerRequest([...TRIGGER_IDS])
export type AskedQuestion = z.output<typeof AskedQuestion>

/**
 * For a question whose facts may name anything.
 *
 * @throws {Problem} 400 that names each fact that is no trigger
 */
export function requireKnownFacts(asked: AskedQuestion): AskedQuestion {
  const errors = AskedQuestion.safeParse(asked).error?.issues.map(({ path, message }) => ({
    pointer: `#/${path.join('/')}`,
    detail: message,
  }))
  if (errors === undefined) return asked
  const detail = errors.map((error) => `${error.pointer}: ${error.detail}`).join('. ')
  throw new Problem('invalid-request', { detail: `${detail}. GET /api/triggers lists the ids.`, errors })
}

/** Answers questions from what is published, under the switches of operators. */
export interface AnswerService {
  /** Prepares answers from a catalog, which takes some 100 ms. Those that follow are made from it. */
  prepare(catalog: GuideCatalog): void
  /** What operators turned off, and whether questions are answered; `unavailable` until the former is known. */
  state(): AnswersState
  /** @throws {Problem} 503 with `findHelp` while answers are paused or unavailable */
  answer(asked: AskedQuestion, options?: AnswerOptions): Answer
  /** The triggers that are looked for, as `GET /triggers` lists them. */
  triggers(catalog: GuideCatalog): PreparedAnswer
}

/** @param deps.origin the site's address, without a slash at its end */
export function answerService(deps: {
  origin: string
  metrics: AnswerMetrics
  now: () => Date
  log: Log
}): AnswerService {
  const { origin, metrics, now, log } = deps
  let state: AnswersState = { status: 'unavailable', withdrawnSections: [], disabledTriggers: [] }
  let knowledge: Knowledge | undefined

  /** @returns undefined where it is not known what operators turned off, and where there is nothing to answer from */
  function knowledgeOf({ switches, published: guides }: GuideCatalog): Knowledge | undefined {
    if (switches === undefined || guides.length === 0) return undefined
    try {
      const prepared = prepareKnowledge({ guides, triggers: TRIGGERS, switches, origin })
      warmUp(prepared, now())
      return prepared
    } catch (error) {
      log.error('answers cannot be prepared from the published guides', { error })
      return undefined
    }
  }

  return {
    prepare(catalog) {
      knowledge = knowledgeOf(catalog)
      const { paused = false, withdrawnSections = [], disabledTriggers = [] } = catalog.switches ?? {}
      const status = knowledge === undefined ? 'unavailable' : paused ? 'paused' : 'ok'
      state = { status, withdrawnSections: [...withdrawnSections], disabledTriggers: [...disabledTriggers] }
      metrics.prepared(state)
    },
    state: () => state,
    answer(asked, options) {
      if (knowledge === undefined || state.status !== 'ok') throw noAnswers(state.status)
      const answer = answerQuestion(asked, knowledge, now(), options)
      metrics.answered(answer)
      return answer
    },
    triggers: preparedOnce((catalog) =>
      prepareAnswer(JSON_TYPE, JSON.stringify(listedTriggers(catalog.switches?.disabledTriggers ?? []))),
    ),
  }
}

/** Answers one question, since the first one compiles the triggers, which would take a request 100 ms. */
const warmUp = (knowledge: Knowledge, today: Date) =>
  void answerQuestion({ question: 'When do I renew my green card?' }, knowledge, today)

const noAnswers = (status: AnswersState['status']) =>
  new Problem(status === 'paused' ? 'answers-paused' : 'answers-unavailable', {
    headers: { 'retry-after': status === 'paused' ? '300' : '2' },
    extensions: { findHelp: fixedHelp() },
  })

function listedTriggers(disabled: readonly string[]): TriggerList {
  const listed = TRIGGERS.filter(({ id }) => !disabled.includes(id))
  return TriggerList.parse({
    triggers: listed.map((trigger) => ({ ...trigger, version: versionOf(trigger) })),
  })
}

const versionOf = (trigger: object): string =>
  createHash('sha256').update(JSON.stringify(trigger)).digest('base64url').slice(0, 16)
