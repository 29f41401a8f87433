import {
  type AnswerOptions,
  answerQuestion,
  type Knowledge,
  loadTriggers,
  prepareKnowledge,
  triggerVersion,
} from '@plainpath/answers'
import { ALL_HELP, type Answer, type AnswerRequest, type AnswersState, TriggerList } from '@plainpath/domain'
import { type Log, type PreparedResponse, Problem, prepareOnce, prepareResponse } from '@plainpath/http'
import { JSON_TYPE } from '../guides/guide-answers.ts'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import type { AnswerMetrics } from './answer-metrics.ts'

const TRIGGERS = loadTriggers()

/** Answers questions from what is published, under the switches of operators. */
export interface AnswerService {
  /** Prepares answers from a catalog, which takes 0.3 s of processor. Those that follow are made from it. */
  prepare(catalog: GuideCatalog): void
  /** What operators turned off, and whether questions are answered; `unavailable` until the former is known. */
  state(): AnswersState
  /** @throws {Problem} 503 with `findHelp` while answers are paused or unavailable */
  answer(asked: AnswerRequest, options?: AnswerOptions): Answer
  /** The triggers that are looked for, as `GET /triggers` lists them. */
  triggers(catalog: GuideCatalog): PreparedResponse
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
  function knowledgeOf(catalog: GuideCatalog): Knowledge | undefined {
    const { switches, published: guides } = catalog
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
    triggers: prepareOnce((catalog) =>
      prepareResponse(JSON_TYPE, JSON.stringify(listedTriggers(catalog.switches?.disabledTriggers ?? []))),
    ),
  }
}

/** Answers one question, since the first one compiles the triggers, which would make a request wait. */
const warmUp = (knowledge: Knowledge, today: Date) =>
  void answerQuestion({ question: 'When do I renew my green card?' }, knowledge, today)

const noAnswers = (status: AnswersState['status']) =>
  new Problem(status === 'paused' ? 'answers-paused' : 'answers-unavailable', {
    headers: { 'retry-after': status === 'paused' ? '300' : '2' },
    extensions: { findHelp: ALL_HELP },
  })

function listedTriggers(disabled: readonly string[]): TriggerList {
  const listed = TRIGGERS.filter(({ id }) => !disabled.includes(id))
  return TriggerList.parse({
    triggers: listed.map((trigger) => ({ ...trigger, version: triggerVersion(trigger) })),
  })
}
