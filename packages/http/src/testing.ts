export { type AnswerFacts, expectSoundAnswer, type SoundnessOptions } from './testing/sound-answer.ts'
