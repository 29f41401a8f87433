export { type AnswerOptions, answerQuestion } from './answer-question.ts'
export { fixedHelp } from './fixed-texts.ts'
export { type Knowledge, packagedKnowledge, prepareKnowledge, type Switches } from './knowledge.ts'
export { loadTriggers, type TriggerFile } from './triggers/trigger-file.ts'
