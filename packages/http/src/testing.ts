export { expectSoundAnswer, type SoundnessOptions } from './testing/sound-answer.ts'
