export { answerQuestion } from './answer-question.ts'
export { type Knowledge, prepareKnowledge, type Switches } from './knowledge.ts'
export { loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'
