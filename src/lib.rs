//! bitlane
