export { type AnswerOptions, answerQuestion } from './answer-question.ts'
export { type Knowledge, packagedKnowledge, prepareKnowledge } from './knowledge.ts'
export { loadTriggers, type TriggerFile, triggerVersion } from './triggers/trigger-file.ts'
