import {
  type AnswerOptions,
  answerQuestion,
  computeTriggerVersion,
  type Knowledge,
  loadTriggers,
  prepareKnowledge,
} from '@plainpath/answers'
import { ALL_HELP, type Answer, type AnswerRequest, type AnswersState, TriggerList } from '@plainpath/domain'
import { type Log, type PreparedResponse, Problem, prepareOnce, prepareResponse } from '@plainpath/http'
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { JSON_TYPE } from '../guides/guide-responses.ts'
import type { AnswerMetrics } from './answer-metrics.ts'

/** Answers questions from the published guides, without the parts that operators turned off. */
export interface AnswerService {
  /** Replaces the catalog from which questions are answered. Takes about 0.3 s of processor time. */
  prepare(catalog: GuideCatalog): void
  /**
   * Returns the status, and what operators turned off. The status is `unavailable` until the operators' switches have been read
   * from the database, and while no guide is published or the guides cannot be prepared.
   */
  getState(): AnswersState
  /**
   * Answers a question.
   *
   * @throws {Problem} 503 with `findHelp` while answers are paused or unavailable
   */
  answer(request: AnswerRequest, options?: AnswerOptions): Answer
  /** Returns the response of `GET /api/triggers`, which lists the enabled triggers. */
  getTriggerList(catalog: GuideCatalog): PreparedResponse
}

/**
 * Creates the service. It is unavailable until `prepare` is called.
 *
 * @param deps.origin the origin of the site, without a trailing slash
 */
export function createAnswerService(deps: {
  origin: string
  metrics: AnswerMetrics
  now: () => Date
  log: Log
}): AnswerService {
  const { origin, metrics, now, log } = deps
  let state: AnswersState = { status: 'unavailable', withdrawnSections: [], disabledTriggers: [] }
  let knowledge: Knowledge | undefined

  /** Returns undefined if the operators' switches have not been read, if there are no guides, or if the preparation fails. */
  function prepareFromCatalog(catalog: GuideCatalog): Knowledge | undefined {
    const { guides, switches } = catalog
    if (switches === undefined || guides.length === 0) return undefined
    try {
      const newKnowledge = prepareKnowledge({ guides, triggers: loadTriggers(), switches, origin })
      warmUp(newKnowledge, now())
      return newKnowledge
    } catch (error) {
      log.error('answers cannot be prepared from the published guides', { error })
      return undefined
    }
  }

  return {
    prepare(catalog) {
      knowledge = prepareFromCatalog(catalog)
      const { paused = false, withdrawnSections = [], disabledTriggers = [] } = catalog.switches ?? {}
      const availableStatus = paused ? 'paused' : 'ok'
      const status = knowledge === undefined ? 'unavailable' : availableStatus
      state = { status, withdrawnSections: [...withdrawnSections], disabledTriggers: [...disabledTriggers] }
      metrics.recordState(state)
    },
    getState: () => state,
    answer(request, options) {
      if (knowledge === undefined) throw createUnavailableProblem('unavailable')
      if (state.status !== 'ok') throw createUnavailableProblem(state.status)
      const answer = answerQuestion(request, knowledge, now(), options)
      metrics.countAnswer(answer)
      return answer
    },
    getTriggerList: prepareOnce((catalog) =>
      prepareResponse(
        JSON_TYPE,
        JSON.stringify(listEnabledTriggers(catalog.switches?.disabledTriggers ?? [])),
      ),
    ),
  }
}

/** Answers a sample question. The first question compiles the triggers, and no request should wait for that. */
const warmUp = (knowledge: Knowledge, today: Date) =>
  void answerQuestion({ question: 'When do I renew my green card?' }, knowledge, today)

/** Staff resume paused answers by hand. A client that retries sooner would only add load. */
const PAUSED_RETRY_SECONDS = 300
/** The instance polls the guides and the operators' switches every second, so answers are usually available again soon. */
const UNAVAILABLE_RETRY_SECONDS = 2

type StatusWithoutAnswers = Exclude<AnswersState['status'], 'ok'>

/** Creates the `Retry-After` header for a time without answers. */
export const createRetryHeaders = (status: StatusWithoutAnswers) => ({
  'retry-after': String(status === 'paused' ? PAUSED_RETRY_SECONDS : UNAVAILABLE_RETRY_SECONDS),
})

const createUnavailableProblem = (status: StatusWithoutAnswers) =>
  new Problem(status === 'paused' ? 'answers-paused' : 'answers-unavailable', {
    headers: createRetryHeaders(status),
    extensions: { findHelp: ALL_HELP },
  })

function listEnabledTriggers(disabledIds: readonly string[]): TriggerList {
  const enabled = loadTriggers().filter(({ id }) => !disabledIds.includes(id))
  return TriggerList.parse({
    triggers: enabled.map((trigger) => ({ ...trigger, version: computeTriggerVersion(trigger) })),
  })
}
