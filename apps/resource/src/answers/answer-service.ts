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
import type { GuideCatalog } from '../guides/guide-catalog.ts'
import { JSON_TYPE } from '../guides/guide-responses.ts'
import type { AnswerMetrics } from './answer-metrics.ts'

const TRIGGERS = loadTriggers()

/** Answers questions from what is published, under the switches of operators. */
export interface AnswerService {
  /** Prepares the following answers from a catalog. Takes 0.3 s of processor time. */
  prepare(catalog: GuideCatalog): void
  /** Returns what operators turned off, and whether questions are answered. `unavailable` until the database was read. */
  state(): AnswersState
  /** @throws {Problem} 503 with `findHelp` while answers are paused or unavailable */
  answer(request: AnswerRequest, options?: AnswerOptions): Answer
  /** Returns the title of a published guide, or its slug if it was withdrawn since. */
  guideTitle(slug: string): string
  /** Returns the enabled triggers, as `GET /triggers` lists them. */
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

  /** @returns undefined until it is known what operators turned off, and when no guide is published */
  function prepareFrom(catalog: GuideCatalog): Knowledge | undefined {
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
      knowledge = prepareFrom(catalog)
      const { paused = false, withdrawnSections = [], disabledTriggers = [] } = catalog.switches ?? {}
      const status = knowledge === undefined ? 'unavailable' : paused ? 'paused' : 'ok'
      state = { status, withdrawnSections: [...withdrawnSections], disabledTriggers: [...disabledTriggers] }
      metrics.showState(state)
    },
    state: () => state,
    answer(request, options) {
      if (knowledge === undefined || state.status !== 'ok') throw noAnswers(state.status)
      const answer = answerQuestion(request, knowledge, now(), options)
      metrics.countAnswer(answer)
      return answer
    },
    guideTitle: (slug) => knowledge?.guides.get(slug)?.title ?? slug,
    triggers: prepareOnce((catalog) =>
      prepareResponse(JSON_TYPE, JSON.stringify(listedTriggers(catalog.switches?.disabledTriggers ?? []))),
    ),
  }
}

/** Answers one question: the first question compiles the triggers, and no request should wait for that. */
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
