//! Objects, dumps and datasets, through the doors that collectors and the web use.

mod damage;
mod generations;
mod histories;
mod objects;
mod s3;
mod world;
