export { answerQuestion, type AnswerOptions } from './answer-question.ts'
export { type Knowledge, packagedKnowledge, prepareKnowledge, type Switches } from './knowledge.ts'
export type { Clause } from './language/clauses.ts'
export {
  readTriggers,
  type SuggestedCheck,
  type TriggerMatch,
  type TriggerReading,
} from './triggers/match-triggers.ts'
export { loadTriggers, TriggerFile } from './triggers/trigger-file.ts'
