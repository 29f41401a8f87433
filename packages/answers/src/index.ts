export { type AnswerOptions, answerQuestion } from './answer-question.ts'
export { type Knowledge, prepareKnowledge, preparePackagedKnowledge } from './knowledge.ts'
export { computeTriggerVersion, loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'
